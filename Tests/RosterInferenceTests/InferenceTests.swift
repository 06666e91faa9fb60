import RosterCore
import Testing

@testable import RosterDefinition

private func pointer(_ text: String) -> JSONPointer { JSONPointer(text) ?? JSONPointer() }

private func body(_ text: String) -> Resource.AnswerPlace { .body(pointer(text)) }

/// The expected definition of an API.
struct Expected: Sendable {
  var sample: Sample
  var base: String
  var path: String
  var query: [Resource.Parameter] = []
  var name: String
  var table: String
  var records: String
  var key: String
  var keyType: Resource.ColumnType = .integer
  var pages: Resource.Pages
  /// The expected notes about unknown facts, other than whether the key is unique and whether a single record can be
  /// requested.
  var unseen: [Note.Place]
}

extension Expected {
  static let all: [Expected] = [
    .init(
      sample: .rickAndMorty, base: "https://rickandmortyapi.com/api", path: "/character", name: "character",
      table: "characters", records: "/results", key: "/id",
      pages: .init(.number(last: body("/info/pages")), count: body("/info/count")), unseen: [.size]),
    .init(
      sample: .pokeAPI, base: "https://pokeapi.co/api/v2", path: "/pokemon", name: "pokemon", table: "pokemons",
      records: "/results", key: "/name", keyType: .text,
      pages: .init(.offset(param: .query("offset")), size: .init(2, param: .query("limit")), count: body("/count")),
      unseen: []),
    .init(
      sample: .swapi, base: "https://swapi.dev/api", path: "/people/", name: "person", table: "people",
      records: "/results", key: "/url", keyType: .text, pages: .init(.number(), count: body("/count")),
      unseen: [.size, .columns]),
    .init(
      sample: .gitHub, base: "https://api.github.com", path: "/repos/octocat/hello/issues",
      query: [.init("state", .text("all"))], name: "issue", table: "issues", records: "", key: "/id",
      pages: .init(.link, size: .init(2, param: .query("per_page"))), unseen: [.count, .columns]),
    .init(
      sample: .gitLab, base: "https://gitlab.com/api/v4", path: "/projects",
      query: [
        .init("order_by", .text("id")), .init("pagination", .text("keyset")), .init("sort", .text("asc")),
      ], name: "project", table: "projects", records: "", key: "/id",
      pages: .init(.link, size: .init(2, param: .query("per_page"))), unseen: [.count, .columns]),
    .init(
      sample: .stripe, base: "https://api.stripe.com/v1", path: "/customers", name: "customer", table: "customers",
      records: "/data", key: "/id", keyType: .text,
      pages: .init(
        .after(param: .query("starting_after"), at: pointer("/id")), size: .init(2, param: .query("limit")),
        more: body("/has_more")), unseen: [.param, .count, .columns]),
    .init(
      sample: .jira, base: "https://example.atlassian.net/rest/api/3", path: "/search",
      query: [.init("jql", .text("project = ABC order by id"))], name: "issue", table: "issues", records: "/issues",
      key: "/id", keyType: .text, pages: .init(.offset(param: .query("startAt")), count: body("/total")),
      unseen: [.param, .columns]),
    .init(
      sample: .zendesk, base: "https://example.zendesk.com/api/v2", path: "/tickets.json", name: "ticket",
      table: "tickets", records: "/tickets", key: "/id",
      pages: .init(
        .cursor(param: .query("page[after]"), at: body("/meta/after_cursor")),
        size: .init(2, param: .query("page[size]")), more: body("/meta/has_more")), unseen: [.count, .columns]),
    .init(
      sample: .wordPress, base: "https://blog.example/wp-json/wp/v2", path: "/posts", name: "post", table: "posts",
      records: "", key: "/id",
      pages: .init(
        .number(last: .header("X-WP-TotalPages")), size: .init(2, param: .query("per_page")),
        count: .header("X-WP-Total")), unseen: []),
    .init(
      sample: .notion, base: "https://api.example.com", path: "/records", name: "page", table: "pages",
      records: "/results", key: "/id", keyType: .text,
      pages: .init(.cursor(param: .query("start_cursor"), at: body("/next_cursor")), more: body("/has_more")),
      unseen: [.baseURL, .path, .method, .param, .size, .count]),
  ]
}

@Suite struct InferenceTests {
  @Test(
    "infer finds list, key, page style and address of ten public APIs, and names what it could not see",
    arguments: Expected.all)
  func tenAPIs(expected: Expected) throws {
    let finding = try expected.sample.finding()
    let found = finding.resource
    #expect(finding.baseURL == expected.base)
    #expect(found.path == expected.path)
    #expect(found.query == expected.query)
    #expect(found.name == expected.name)
    #expect(found.table == expected.table)
    #expect(found.records == pointer(expected.records))
    #expect(found.key == pointer(expected.key))
    #expect(found.keyColumn.map { found.columns[$0].type } == expected.keyType)
    #expect(found.pages == expected.pages)
    let always: [Note.Place] = [.key, .byKey]
    let unseen = finding.notes.filter(\.isUnseen).map(\.place)
    #expect(always.allSatisfy(unseen.contains))
    let others = unseen.filter { !always.contains($0) && $0 != .since && $0 != .children }
    #expect(others.map { "\($0)" }.sorted() == expected.unseen.map { "\($0)" }.sorted())
  }

  @Test(
    "55: infer proposes since as a comment, from a time of the last change or a delta token",
    arguments: [
      (#""updated_at":"2026-01-01T00:00:00Z""#, "", "{ at = \"/updated_at\", param = \"updated_since\" }"),
      (
        #""UpdatedDateUTC":"/Date(1763977200000+0000)/""#, "",
        "{ at = \"/UpdatedDateUTC\", param = \"updated_since\", form = \"dotnet\" }"
      ),
      (
        #""updated":"Mon, 23 Nov 2026 09:00:00 GMT""#, "",
        "{ at = \"/updated\", param = \"updated_since\", form = \"http\" }"
      ),
      (#""updated":20261123"#, "", "{ at = \"/updated\", param = \"updated_since\", form = \"compact\" }"),
      (
        #""lastModified":1767225600000"#, "",
        "{ at = \"/lastModified\", param = \"updated_since\", form = \"unix_ms\" }"
      ),
      (#""updated_at":"today""#, "", nil),
      (#""a":1"#, #""@odata.deltaLink":"https://a.example/d?t=1","#, "{ token = \"/@odata.deltaLink\" }"),
      (#""a":1"#, #""nextSyncToken":"x","#, "{ token = \"/nextSyncToken\", param = \"syncToken\" }"),
    ])
  func since(field: String, fact: String, proposed: String?) throws {
    let body = #"{\#(fact)"results":[{"id":1,"name":"a",\#(field)},{"id":2,"name":"b",\#(field)}]}"#
    let finding = try Inference.finding(try ListAnswer(Array(body.utf8)))
    #expect(finding.notes.filter { $0.place == .since }.flatMap(\.lines) == (proposed.map { ["since = \($0)"] } ?? []))
    #expect(finding.toml.contains("since = ") == (proposed != nil))
    #expect(finding.resource.since == nil)
  }

  @Test("infer's definition of Rick and Morty is the built-in one")
  func builtIn() throws {
    var found = try Sample.rickAndMorty.finding().resource
    let known = Resource.character
    found.search = known.search
    found.byKey = known.byKey
    found.removal = known.removal
    #expect(found == known)
  }
}
