import RosterCore
import Testing

@testable import RosterFetch

@Suite struct QueryTextTests {
  @Test(
    "auth.send adds only its parameter, percent-encoded, and replaces any of the same name",
    arguments: [
      ("http://h/a", "http://h/a?key=t%2B%26"), ("http://h/a?", "http://h/a?&key=t%2B%26"),
      ("http://h/a?b=%2f&c", "http://h/a?b=%2f&c&key=t%2B%26"), ("http://h/a?key=old", "http://h/a?key=t%2B%26"),
      ("http://h/a?key&b=1&k%65y=2", "http://h/a?b=1&key=t%2B%26"),
      ("http://h/a?KEY=1", "http://h/a?KEY=1&key=t%2B%26"),
      ("http://h?b=1#part?key=1", "http://h?b=1&key=t%2B%26#part?key=1"), ("http://h#p", "http://h?key=t%2B%26#p"),
      ("http://h/a?b=%&key=%6", "http://h/a?b=%&key=t%2B%26"),
    ])
  func setting(url: String, with: String) {
    #expect(QueryText.setting(.init("key", "t+&"), in: url) == with)
  }

  @Test("A parameter's name is compared in its decoded form", arguments: ["a%5Bk%5D=1", "a[k]=1", "a%5bk%5d"])
  func names(parameter: String) {
    #expect(QueryText.removing("a[k]", from: "http://h/?\(parameter)&x") == "http://h/?x")
    #expect(QueryText.setting(.init("a[k]", "1"), in: "http://h/") == "http://h/?a%5Bk%5D=1")
  }
}
