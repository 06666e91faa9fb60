import RosterCore
import Testing

@Suite("38: addresses in outputs") struct MaskedURLTests {
  @Test(
    "The values of parameters with a credential's name are masked, and nothing else",
    arguments: [
      ("http://a/b?page=2&api_key=x&state=open", "http://a/b?page=2&api_key=***&state=open"),
      ("http://a/b?access_token=x%3D=y", "http://a/b?access_token=***"),
      ("/b?X-Amz-Signature=x&Key=y", "/b?X-Amz-Signature=***&Key=***"), ("http://a/key=b", "http://a/key=b"),
      ("http://a/b?key&sort_key=name&author=z&=&", "http://a/b?key&sort_key=name&author=z&=&"),
      ("/b?api%5Fkey=x&%61uth=y&%ff=z&a+secret=w", "/b?api%5Fkey=***&%61uth=***&%ff=z&a+secret=***"),
    ])
  func secrets(address: String, shown: String) { #expect(address.secretsMasked == shown) }

  @Test("Parameters that contain a credential's bytes are masked, and a value with a placeholder is not")
  func besides() {
    let address = "/b?my%5Bk%5D=x&My[k]=y&token={key}&key=a-{key}&secret={other}"
    #expect(
      address.secretsMasked(besides: ["my[k]"], keeping: ["{key}"])
        == "/b?my%5Bk%5D=***&My[k]=y&token={key}&key=a-{key}&secret=***")
  }

  @Test("User and password are masked")
  func user() {
    #expect("https://u:p@s@a/b@c?d".userMasked == "https://***@a/b@c?d")
    #expect("https://a/b@c".userMasked == "https://a/b@c" && "/a@b".userMasked == "/a@b")
  }

  @Test("A whole query can be masked") func query() {
    #expect("http://a/b?c=d".queryMasked == "http://a/b?***" && "http://a/b".queryMasked == "http://a/b")
  }
}
