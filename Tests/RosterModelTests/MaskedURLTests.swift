import RosterModel
import Testing

@Suite("T9: addresses as they are shown") struct MaskedURLTests {
  @Test(
    "The values of parameters that are named as credentials are masked, and all else is as it was",
    arguments: [
      ("http://a/b?page=2&api_key=x&state=open", "http://a/b?page=2&api_key=***&state=open"),
      ("http://a/b?access_token=x%3D=y", "http://a/b?access_token=***"),
      ("/b?X-Amz-Signature=x&Key=y", "/b?X-Amz-Signature=***&Key=***"), ("http://a/key=b", "http://a/key=b"),
      ("http://a/b?key&sort_key=name&author=z&=&", "http://a/b?key&sort_key=name&author=z&=&"),
    ])
  func secrets(address: String, shown: String) { #expect(address.secretsMasked == shown) }

  @Test("All of a query is masked") func query() {
    #expect("http://a/b?c=d".queryMasked == "http://a/b?***" && "http://a/b".queryMasked == "http://a/b")
  }
}
