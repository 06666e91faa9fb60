import FoundationEssentials
import RosterCore
import RosterDecode
import Testing

/// Repeated and raw parameters, forms, `by_key` by POST, `empty` with alternatives, and a place by condition.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RequestFormTests {
  @Test("52: a list in query is sent as often as it has values, and raw values without percent-encoding")
  func parameters() async throws {
    let toml = """
      [resource.thing]
      path = "/things"
      query = { include = ["x y", 2, true], fields = "(id,name:(a),b&c)", "f[]" = "a,b" }
      raw = ["fields"]
      [resource.thing.pages]
      style = "number"
      [resource.thing.columns]
      id = { at = "/id", type = "integer" }
      """
    try await withReach(toml) { call in
      .list(ids: call.parameter("page") == "1" ? [1, 2] : [])
    } body: { reach in
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      let asked = "/things?include=x%20y&include=2&include=true&fields=(id,name:(a),b%26c)&f%5B%5D=a%2Cb&page="
      #expect(reach.api.take().map(\.url) == [asked + "1", asked + "2"])
      // The output of check is the same definition.
      try reach.write(try await reach.run("check").output)
      #expect(try await reach.sync().outcome == .unchanged)
      #expect(try await reach.column("SELECT count(*) FROM changes") == ["0"])
    }
  }

  @Test("36, 52: a form-encoded POST, with the page and a secret in its fields")
  func form() async throws {
    let toml = """
      [auth]
      flow = "static"
      send = "/token={access_token}"
      [resource.thing]
      path = "/things"
      method = "POST"
      format = "form"
      body = { "filter[a]" = "x&y", token = "old", n = 5 }
      [resource.thing.pages]
      style = "number"
      param = "/page"
      [resource.thing.columns]
      id = { at = "/id", type = "integer" }
      """
    try await withReach(toml) { call in
      guard call["Content-Type"] == "application/x-www-form-urlencoded" else { throw Refusal(status: 400, why: "type") }
      let fields = call.text.split(separator: "&").map(String.init)
      guard fields.contains("filter%5Ba%5D=x%26y"), fields.contains("n=5"), fields.contains("token=s3cret%20t0ken"),
        fields.count == 4
      else { throw Refusal(status: 401, why: "fields") }
      return .list(ids: fields.contains("page=1") ? [1, 2] : [])
    } body: { reach in
      try reach.writeCredential("access_token", "s3cret t0ken")
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      #expect(try await reach.column("SELECT count(*) FROM thing") == ["2"])
      #expect(try await reach.sync().outcome == .unchanged)
    }
  }

  @Test(
    "52: by_key by POST asks for one key, or for a list of them",
    arguments: [
      (#"{ path = "/find", method = "POST", body = { ids = "{keys}", deep = { name = "k-{keys}" } } }"#, 1),
      (#"{ path = "/find", method = "POST", body = { id = "{key}" } }"#, 2),
    ])
  func byKey(_ question: String, requests: Int) async throws {
    let toml = """
      [resource.thing]
      path = "/things"
      by_key = \(question)
      max_removal = 100
      [resource.thing.pages]
      style = "one"
      [resource.thing.columns]
      id = { at = "/id", type = "integer" }
      """
    let gone: Set = [2, 4]
    try await withReach(toml) { call in
      if call.path == "/things" { return .list(ids: [1, 2, 3, 4]) }
      let asked: [Int]
      if case .list(let ids)? = call.body["ids"] {
        asked = ids.compactMap { Int($0.text ?? "") }
      } else {
        asked = [Int(call.body["id"]?.text ?? "") ?? 0]
      }
      return .list(ids: asked.filter { !gone.contains($0) })
    } body: { reach in
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      let before = OwnAPIList([1, 3])
      reach.api.become { call in
        if call.path == "/things" { return .list(ids: before.ids) }
        var asked: [Int] = []
        if case .list(let ids)? = call.body["ids"] { asked = ids.compactMap(Self.number) }
        if let id = call.body["id"] { asked = [id].compactMap(Self.number) }
        return .list(ids: asked.filter { !gone.contains($0) })
      }
      _ = reach.api.take()
      #expect(try await reach.sync().removed == 2)
      // The questions, and the control question.
      let questions = reach.api.take().filter { $0.method == .post }.map { Call($0, prefix: "") }
      #expect(questions.count == requests + 1)
      let named = questions.flatMap { call -> [Int] in
        if case .list(let ids)? = call.body["ids"] { return ids.compactMap(Self.number) }
        return [call.body["id"]].compactMap { $0.flatMap(Self.number) }
      }
      #expect(gone.isSubset(of: named))
      #expect(try await reach.column("SELECT id FROM thing ORDER BY id") == ["1", "3"])
    }
  }

  private struct OwnAPIList: Sendable {
    let ids: [Int]
    init(_ ids: [Int]) { self.ids = ids }
  }

  private static func number(_ value: JSONValue) -> Int? {
    if case .number(let digits) = value { Int(digits) } else { nil }
  }

  @Test("22: empty may be a list of tables, of which one must be true")
  func empty() async throws {
    let toml = """
      [resource.doc]
      path = "/docs"
      pages = { style = "one" }
      columns = { id = { at = "/id", type = "integer" }, size = { at = "/size", type = "integer" }, state = "/state" }
      [resource.line]
      path = "/docs/{doc.id}/lines"
      each = { of = "doc", empty = [{ size = 0 }, { state = "closed", size = { not = 5 } }] }
      pages = { style = "one" }
      columns = { id = { at = "/id", type = "integer" } }
      """
    try await withReach(toml) { call in
      guard call.path == "/docs" else { return .list(ids: [1]) }
      return .list(
        [(1, 0, "open"), (2, 3, "closed"), (3, 5, "closed"), (4, 3, "open")].map { id, size, state in
          .record(("id", .number("\(id)")), ("size", .number("\(size)")), ("state", .text(state)))
        })
    } body: { reach in
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      #expect(reach.api.take().map(\.url).sorted() == ["/docs", "/docs/3/lines", "/docs/4/lines"])
      #expect(try await reach.column("SELECT doc_id FROM line ORDER BY 1") == ["3", "4"])
      try reach.write(try await reach.run("check").output)
      #expect(try await reach.sync().outcome == .unchanged)
    }
  }

  @Test(
    "52: the next address or value is in the element of a list that fulfils conditions",
    arguments: [#"style = "next""#, "style = \"cursor\"\nparam = \"from\""])
  func placeByCondition(_ style: String) async throws {
    let toml = """
      [resource.thing]
      path = "/things"
      records = "/items"
      [resource.thing.pages]
      \(style)
      at = { list = "/links", where = { "/rel" = "next" }, value = "/href" }
      [resource.thing.columns]
      id = { at = "/id", type = "integer" }
      """
    let isCursor = style.contains("cursor")
    try await withReach(toml) { call in
      let page = try call.integer(isCursor ? "from" : "page", or: 1, in: 1...3)
      func link(_ rel: String, _ to: Int) -> JSONValue {
        .record(("rel", .text(rel)), ("href", .text(isCursor ? "\(to)" : "\(call.origin)/things?page=\(to)")))
      }
      let links = [link("self", page)] + (page < 3 ? [link("next", page + 1)] : []) + [link("last", 3)]
      return .json(("items", .list(ids: [page * 2, page * 2 + 1])), ("links", .list(links)))
    } body: { reach in
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      #expect(reach.api.take().count == 3)
      #expect(try await reach.column("SELECT count(*) FROM thing") == ["6"])
      try reach.write(try await reach.run("check").output)
      #expect(try await reach.sync().outcome == .unchanged)
    }
  }

  @Test("52: a day in path is filled, and brackets in pages.at are a warning of check")
  func dayInPath() async throws {
    let toml = """
      [resource.view]
      path = "/daily/20150701/{today-1d:compact}"
      pages = { style = "next", at = "/links[rel=next]/href" }
      columns = { id = { at = "/id", type = "integer" } }
      """
    let yesterday = String((Date() - 86_400).formatted(.iso8601).prefix(10)).replacing("-", with: "")
    try await withReach(toml) { call in
      guard call.path == "/daily/20150701/\(yesterday)" else { throw Refusal(status: 404, why: call.path) }
      return .list(ids: [1])
    } body: { reach in
      let first = try await reach.sync()
      #expect(first.outcome == .published)
      let check = try await reach.run("check")
      #expect(
        check.exit == 0 && check.error.contains("resource.view.pages.at: \"/links[rel=next]/href\" is a JSON Pointer"))
    }
  }

  @Test(
    "53: what cannot be written into a form or a place by condition is 78",
    arguments: [
      (#"format = "form""#, "", "is not used with GET"),
      (#"method = "POST"\nformat = "form"\nbody = { a = { b = 1 } }"#, "", "no nested table"),
      (#"method = "POST"\nformat = "form""#, #"param = "/a/b""#, "no nested table"),
      (#"raw = ["x"]"#, "", "is no parameter of query"),
      (#"query = { x = [] }"#, "", "is an empty list"), (#"query = { x = [[1]] }"#, "", "not a scalar"),
      (#"by_key = { path = "/x", method = "POST", body = { a = 1 } }"#, "", "neither {key} nor {keys}"),
      (#"by_key = { path = "/x/{key}", body = { a = 1 } }"#, "", "which a GET does not send"),
      ("", #"style = "next", at = { list = "/l", value = "/v" }"#, "lacks list, where or value"),
      (
        "", #"style = "after", param = "a", at = { list = "/l", where = {}, value = "/v" }"#,
        "is no place in the last record"
      ),
    ])
  func refused(keys: String, pages: String, why: String) async throws {
    let toml = """
      [resource.thing]
      path = "/things"
      \(keys.replacing("\\n", with: "\n"))
      pages = { \(pages) }
      columns = { id = "/id" }
      """
    try await withReach(toml) { reach in
      try await reach.expectRefused(why)
    }
  }
}
