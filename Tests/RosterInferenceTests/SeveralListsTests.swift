import RosterCore
import Testing

@testable import RosterDefinition

/// Several lists of one API, and lists below a given base_url.
@Suite struct SeveralListsTests {
  private func answer(_ url: String) throws -> ListAnswer {
    try ListAnswer(Array(#"[{"id":1,"name":"a"}]"#.utf8), asked: .init(try ListAddress(url)))
  }

  @Test("55: base_url is the common beginning of the addresses, and each path is the rest")
  func base() throws {
    let urls = ["https://api.example/api/v1/users", "https://API.example:443/api/v2/posts?page=2"]
    let base = ListAddress.commonBase(of: try urls.map { try ListAddress($0) })
    #expect(base == "https://api.example/api")
    let found = try Inference.findings(try urls.map(answer), below: base)
    #expect(found.map(\.resource.path) == ["/v1/users", "/v2/posts"] && found.map(\.baseURL) == [base, base])
    let text = Inference.toml(of: found)
    #expect(text.split(separator: "\n").count { $0.hasPrefix("base_url = ") } == 1)
    #expect(text.contains("[resource.user]\npath = \"/v1/users\"\n") && text.contains("[resource.post]\npath = "))
    #expect(text.contains("# by_key = \"/v1/users/{key}\""))
  }

  @Test(
    "55: addresses of different origins have no base_url in common",
    arguments: [
      "http://api.example/users", "https://api.example:8443/users", "https://other.example/users",
    ])
  func origins(other: String) throws {
    #expect(ListAddress.commonBase(of: [try ListAddress("https://api.example/users"), try ListAddress(other)]) == nil)
  }

  @Test(
    "55: addresses whose paths name one resource are refused; a path without a name is not",
    arguments: [
      (["/users", "/v2/users?a=1"], "user"), (["/users", "/posts", "/User"], "user"), (["/users", "/posts"], nil),
      (["/1", "/2"], nil),
    ] as [([String], String?)])
  func sameNames(paths: [String], name: String?) throws {
    let addresses = try paths.map { try ListAddress("https://api.example\($0)") }
    do {
      try Inference.expectDifferentNames(addresses)
      #expect(name == nil)
    } catch {
      #expect(error.kind == .usage && name.map { error.description.contains("same [resource.\($0)]") } == true)
    }
  }

  @Test(
    "55: addresses whose paths give one table are refused", arguments: [["/cache", "/caches"], ["/new", "/news"]])
  func sameTables(paths: [String]) throws {
    let addresses = try paths.map { try ListAddress("https://api.example\($0)") }
    let failure = #expect(throws: Failure.self) { try Inference.expectDifferentNames(addresses) }
    #expect(failure?.kind == .usage && failure?.cause.contains("has the same table ") == true)
  }

  @Test("55: a list that is not below base_url does not belong to that configuration")
  func below() throws {
    let list = try ListAddress("https://api.example/api/v1/users")
    #expect(list.below("https://api.example/api")?.path == "/v1/users")
    #expect(list.below("https://api.example")?.path == "/api/v1/users")
    for base in ["https://api.example/ap", "https://api.example/api/v1/users", "https://other.example/api"] {
      #expect(list.below(base) == nil, "\(base)")
    }
  }

  @Test("55: added text has no [upstream]; what the lists need there is a comment")
  func addition() throws {
    var answer = try answer("https://api.example/users")
    answer.asked?.headers = [.init("Accept", "application/json")]
    let text = Inference.addition(of: [try Inference.finding(answer)])
    #expect(!text.contains("\n[upstream]") && !text.contains("\nbase_url") && text.contains("\n[resource.user]\n"))
    let hint = "# [upstream] of this file may need:\n# headers = { Accept = \"application/json\" }\n"
    #expect(text.contains(hint), "\(text)")
  }
}
