import RosterCore
import Testing

@testable import RosterDefinition

/// Secrets and infer: the credentials that a user gives for the request.
@Suite struct RequestNotesTests {
  private func toml(_ url: String, headers: [Request.Header] = []) throws -> String {
    try Sample(name: "", url: url, body: #"[{"id":1,"name":"a"}]"#).finding(headers).toml
  }

  @Test(
    "38: infer prints no secret of a header or of the address's query, but a comment says where it belongs",
    arguments: [
      (Request.Header("Authorization", "Bearer s3cret-value"), "# flow = \"static\""),
      (.init("authorization", "Basic dXNlcjpzM2NyZXQtdmFsdWU="), "# flow = \"basic\""),
      (.init("Authorization", "token s3cret-value"), #"# send = "Authorization: token {access_token}""#),
      (.init("Authorization", "s3cret-value"), #"# send = "Authorization: {access_token}""#),
      (.init("PRIVATE-TOKEN", "s3cret-value"), #"# send = "PRIVATE-TOKEN: {access_token}""#),
      (.init("Cookie", "session=s3cret-value"), #"# send = "Cookie: {access_token}""#),
      (.init("Accept-Language", "x_s3cret0123456789AB"), #"# send = "Accept-Language: {access_token}""#),
      (.init("Api-Version", "a.s3cret0123456789AB.b"), #"# send = "Api-Version: {access_token}""#),
    ])
  func headers(header: Request.Header, advice: String) throws {
    let text = try toml("https://a.example/things", headers: [header])
    #expect(text.contains(advice))
    #expect(!text.contains("s3cret") && !text.contains("dXNlcjpz"))
  }

  @Test(
    "38: infer leaves out parameters that look like credentials, by name or by value",
    arguments: [
      ("api_key", "short"), ("apikey", "x"), ("access_token", "abc"), ("key", "AIza"), ("client_secret", "x"),
      ("sig", "x"), ("appid", "x"), ("q", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3"),
      ("u", "abcdefghijklmnopqrstuvwxyz"), ("session", "x"), ("code", "x"), ("ticket", "x"), ("otp", "123456"),
      ("pin", "1234"), ("hash", "x"), ("hmac", "x"), ("passphrase", "x"), ("accessCode", "x"), ("token", "x"),
      ("password", "x"), ("secret", "x"), ("u", "https://bob:x@b.example/"), ("u", "https://b.example/?sig=x"),
    ])
  func query(name: String, value: String) throws {
    let text = try toml("https://a.example/things?state=open&\(name)=\(value)&since=2024-01-01T00:00:00Z&page=2")
    #expect(!text.contains("\(value)\"") && text.contains(#"send = "?\#(name)={access_token}""#))
    #expect(text.contains(#"query = { since = "2024-01-01T00:00:00Z", state = "open" }"#))
  }

  @Test(
    "38: a comment at the top says that the path, or a search, looks like it contains a credential",
    arguments: [
      ("/bot123456:s3cret/getUpdates", "the path"), ("/x/things;jsessionid=s3cret", "the path"),
      ("/services/TA/Zq8s3cr3tXy77abc/things", "the path"),
      ("/token:s3cr3t/things", "the path"), ("/auth=s3cr3t", "the path"),
      ("/things?q=token:s3cret", "the parameter \"q\""),
    ])
  func addressWarning(address: String, part: String) throws {
    let text = try toml("https://a.example\(address)")
    let top = text.split(separator: "\n\n").first ?? ""
    #expect(top.contains("# warning: \(part) looks like it contains a credential"))
  }

  @Test(
    "Paths and searches without a credential have no warning",
    arguments: [
      "/api/v2/things", "/things:search", "/tokens:list", "/orgs/59833787-2cf9-4fdf-8782-e53db20768a7/things",
      "/things?since=2024-01-01T00:00:00Z&q=topic:x",
    ])
  func noAddressWarning(address: String) throws {
    #expect(try !toml("https://abcdefgh12345678.a.example:8443\(address)").contains("warning"))
  }

  @Test("Harmless headers are part of the definition, and a second secret has a comment too")
  func harmless() throws {
    let text = try toml(
      "https://a.example/things",
      headers: [
        .init("Notion-Version", "2022-06-28"), .init("Authorization", "Bearer s3cret"),
        .init("Accept", "application/json"), .init("Stripe-Version", "2024-09-30.acacia"),
        .init("X-Api-Key", "s3cret"),
      ])
    #expect(
      text.contains(
        #"headers = { Accept = "application/json", Notion-Version = "2022-06-28", "#
          + #"Stripe-Version = "2024-09-30.acacia" }"#))
    #expect(text.contains("the header X-Api-Key is not shown here") && !text.contains("s3cret"))
  }

  @Test(
    "Headers that select the form of an answer are part of the definition",
    arguments: ["Prefer: count=exact", "Accept-Profile: api", "ConsistencyLevel: eventual"])
  func forms(header: String) throws {
    let parts = header.split(separator: ":").map { String($0.drop { $0 == " " }) }
    let text = try toml("https://a.example/things", headers: [.init(parts[0], parts[1])])
    #expect(text.contains(#"headers = { \#(parts[0]) = "\#(parts[1])" }"#) && !text.contains("is not shown"))
  }

  @Test(
    "The address of a list is split into base_url, path and query",
    arguments: [
      ("https://a.example/api/v2/things?x=1", "https://a.example/api/v2", "/things"),
      ("HTTPS://a.example:8443/rest/api/3/search", "https://a.example:8443/rest/api/3", "/search"),
      ("http://127.0.0.1:8080/things/", "http://127.0.0.1:8080", "/things/"),
      ("http://[::1]:80/v1", "http://[::1]:80", "/v1"),
      ("https://a.example", "https://a.example", "/"), ("https://a.example/api", "https://a.example", "/api"),
      ("https://a.example/wp-json/wp/v2/posts#top", "https://a.example/wp-json/wp/v2", "/posts"),
      ("https://a.example/a%20b/v1/c", "https://a.example", "/a%20b/v1/c"),
    ])
  func address(text: String, base: String, path: String) throws {
    let address = try ListAddress(text)
    #expect(address.baseURL == base && address.path == path)
  }

  @Test(
    "An address that cannot be a list's is 64, in a sentence that does not repeat it",
    arguments: [
      "a.example/s3cret", "ftp://a.example/s3cret", "https://user:s3cret@a.example/x", "https://", "s3cret", "",
      "https://a.example:99999999999999999999/s3cret", "https://a.example:0/s3cret",
    ])
  func noAddress(text: String) {
    let failure = #expect(throws: Failure.self) { try ListAddress(text) }
    #expect(failure?.kind == .usage && failure?.description.contains("s3cret") == false)
  }

  @Test("A next page on another origin has a comment about links; one on the same origin has none")
  func links() throws {
    for (next, isElsewhere) in [
      ("https://b.example/things?page=2", true), ("http://a.example/things?page=2", true),
      ("https://A.example:443/things?page=2", false), ("/things?page=2", false), ("?page=2", false),
    ] {
      let sample = Sample(
        name: "", url: "https://a.example/things", body: "{\"next\":\"\(next)\",\"data\":[{\"id\":1}]}")
      let lines = try sample.finding().toml.split(separator: "\n")
      #expect(lines.contains { $0.hasPrefix("links = \"rebase\"") } == isElsewhere, "\(next)")
    }
  }

  @Test("An answer with its head, as curl -i prints it, is read with its headers; the last of several heads counts")
  func printed() throws {
    let text =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/2 200 \r\nlink: <https://a.example/x?page=2>; rel=\"next\"\r\nX-A:  b \r\n\r\n[{\"id\":1}]"
    let answer = try ListAnswer(printed: Array(text.utf8))
    #expect(answer.headers.map(\.name) == ["link", "X-A"] && answer.headers.last?.value == "b")
    let finding = try Inference.finding(answer)
    #expect(finding.resource.pages.style == .link)
    #expect(finding.unseen(.baseURL).count == 1 && finding.unseen(.path).count == 1)
    #expect(try Inference.finding(ListAnswer(printed: Array("\u{FEFF}[{\"id\":1}]".utf8))).records == 1)
  }
}
