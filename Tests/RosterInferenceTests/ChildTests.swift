import RosterCore
import Testing

@testable import RosterDefinition

/// `infer --of`: the address is that of one parent's child.
@Suite struct ChildTests {
  private static let list = #"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#

  private func finding(_ url: String, of parents: [String], body: String = list) throws -> InferredDefinition {
    let parents = try parents.map { try #require(GivenParent($0)) }
    let address = try ListAddress(url, of: parents)
    return try Inference.finding(try ListAnswer(Array(body.utf8), asked: .init(address, parents: parents)))
  }

  @Test(
    "55: the parent's value becomes its placeholder: a segment of the path, a query value, or a part of one",
    arguments: [
      ("/repos/a/b/issues/5/comments", "issue.number=5", "/repos/a/b/issues/{issue.number}/comments", nil),
      ("/users/j%C3%B6rg/posts", "user.name=jörg", "/users/{user.name}/posts", nil),
      ("/projects/a%2Fb/jobs", "project.path=a/b", "/projects/{project.path}/jobs", nil),
      ("/item/8863.json", "top.id=8863", "/item/{top.id}.json", nil),
      ("/Customers('ALFKI')/Orders", "customer.id=ALFKI", "/Customers('{customer.id}')/Orders", nil),
      ("/comments?post=5", "post.id=5", "/comments", "{post.id}"),
      ("/comments?post=a%20b", "post.name=a b", "/comments", "{post.name}"),
      ("/comments?where=post:5", "post.id=5", "/comments", "post:{post.id}"),
      ("/5/comments?limit=50", "post.id=5", "/{post.id}/comments", nil),
    ])
  func placeholders(address: String, parent: String, path: String, value: String?) throws {
    let found = try finding("https://api.example\(address)", of: [parent]).resource
    #expect(found.path == path)
    let texts = found.query.compactMap { if case .text(let text) = $0.value { text } else { nil } }
    #expect(texts == (value.map { [$0] } ?? []))
    #expect(found.each == Each(of: String(parent.prefix { $0 != "." })))
  }

  @Test(
    "55: the value of a parent is no secret, whatever its parameter is called; another part of it may be one",
    arguments: [
      ("author", "{a.id}"), ("ticket", "{a.id}"), ("session", "{a.id}"), ("projectKey", "{a.id}"), ("token", nil),
    ] as [(String, String?)])
  func noSecret(name: String, value: String?) throws {
    let given = value == nil ? "s3cret:5" : "5"
    let found = try finding("https://api.example/comments?\(name)=\(given)", of: ["a.id=5"])
    #expect(found.resource.query == (value.map { [.init(name, .text($0))] } ?? []))
    #expect(found.toml.contains("access_token") == (value == nil) && !found.toml.contains("s3cret"))
  }

  @Test("55: several --of name the parts of a composite key, or ancestors; the last one names the parent")
  func several() throws {
    let key = try finding("https://api.example/buckets/blog,a1/notes", of: ["entry.bucket=blog", "entry.id=a1"])
    #expect(key.resource.path == "/buckets/{entry.bucket},{entry.id}/notes" && key.resource.each?.parent == "entry")
    let url = "https://api.example/repos/spoon/issues/5/comments"
    let deep = try finding(url, of: ["repository.name=spoon", "issue.number=5"])
    #expect(deep.resource.path == "/repos/{repository.name}/issues/{issue.number}/comments")
    #expect(deep.resource.each?.parent == "issue")
    #expect(deep.toml.contains("\neach = { of = \"issue\" }\n"))
  }

  @Test("55: the value of --of is no key, even if the answer has one record")
  func keyOfChild() throws {
    let list = #"[{"order_id":5,"name":"x"}]"#
    let found = try finding("https://api.example/orders/5/lines", of: ["order.id=5"], body: list)
    #expect(found.resource.keyPlaces.map(\.description) == ["/name"])
    let own = try finding("https://api.example/orders/5/lines", of: ["order.id=5"], body: #"[{"id":5,"name":"x"}]"#)
    #expect(own.resource.keyPlaces.map(\.description) == ["/id"])
  }

  @Test(
    "55: a child has the name of the address's last word after that of its parent",
    arguments: [
      ("/orders/5/items", "order_item"), ("/orders/5/entries", "order_entry"), ("/orders/5/lines", "line"),
      ("/orders/5", "child_order"),
    ])
  func name(path: String, name: String) throws {
    #expect(try finding("https://api.example\(path)", of: ["order.id=5"]).resource.name == name)
  }

  @Test("55: a column with the whole address becomes the path, and the rest of the query stays")
  func wholeAddress() throws {
    let url = "https://api.example/api/pokemon/bulbasaur"
    let found = try finding("\(url)?lang=en", of: ["pokemon.url=\(url)"], body: #"{"id":1,"height":7}"#).resource
    #expect(found.path == "{pokemon.url}" && found.query == [.init("lang", .text("en"))])
    #expect(found.name == "pokemon_detail" && found.isDetail)
    let list = try finding("\(url)/moves?of=1", of: ["pokemon.moves_url=\(url)/moves?of=1"]).resource
    #expect(list.path == "{pokemon.moves_url}" && list.query.isEmpty && list.name == "move")
  }

  @Test(
    "55: a value that is missing or ambiguous is refused (64), and the sentence says what to do",
    arguments: [
      (["issue.number=6"], "no segment of its path", "--of issue.number=5"),
      (["issue.number=issue"], "no segment of its path", "--of issue.number=5"),
      (["issue.number=5"], "2 times", "another parent"),
      (["a.x=7", "b.y=7"], "a.x and b.y are at the same place", "another parent"),
    ])
  func refused(parents: [String], cause: String, hint: String) throws {
    let failure = try #require(throws: Failure.self) {
      try finding("https://api.example/v1/issues/5/comments/7/5", of: parents)
    }
    #expect(failure.kind == .usage && failure.cause.contains(cause), "\(failure.cause)")
    #expect(failure.hint?.contains(hint) == true, "\(failure.hint ?? "")")
  }

  @Test("55: base_url ends before a value: /api/3/items of the parent 3", arguments: ["3", "v2"])
  func base(value: String) throws {
    let found = try finding("https://api.example/api/\(value)/items", of: ["shop.id=\(value)"])
    #expect(found.baseURL == "https://api.example/api" && found.resource.path == "/{shop.id}/items")
  }

  @Test("55: --of is RESOURCE.COLUMN=VALUE", arguments: ["x", "x=1", "a.b", "a.b=", ".b=1", "A.b=1", "key.a=1", ""])
  func form(text: String) {
    #expect(GivenParent(text) == nil)
  }

  // MARK: Details

  @Test(
    "55: an answer that is one record gives the style record, without a key",
    arguments: [
      ("/pokemon/1", #"{"id":1,"types":[{"slot":1,"name":"grass"}]}"#, "", "pokemon_detail"),
      ("/item/1.json", #"{"id":1,"kids":[7,8],"title":"a"}"#, "", "pokemon_detail"),
      ("/tickets/1", #"{"ticket":{"id":1,"subject":"a","tags":["x"]}}"#, "/ticket", "ticket"),
      ("/orders/1", #"{"id":1,"items":[{"id":3,"n":2}]}"#, "", "order"),
      ("/users/1/profile", #"{"bio":"x","tags":["a","b"]}"#, "", "profile"),
      ("/users/1/profile", #"{"data":{"user":1,"bio":"x"},"links":{"self":"https://a.example"}}"#, "/data", "profile"),
    ])
  func details(path: String, body: String, records: String, name: String) throws {
    let found = try finding("https://api.example\(path)", of: ["pokemon.id=1"], body: body)
    #expect(found.resource.pages == Resource.Pages(.record) && found.resource.records.description == records)
    #expect(found.resource.name == name && found.records == 1)
    let text = Inference.child(found)
    #expect(text.contains("style = \"record\"") && !text.contains("\nkey = ") && !text.contains("by_key"))
  }

  @Test(
    "55: an answer with a list of records is a list, also if the list is below an object",
    arguments: [
      ("/issues/1/comments", list, ""), ("/boards/1/items", #"{"items":[{"id":1}],"total":1}"#, "/items"),
      ("/users/1/orders", #"{"id":1,"orders":[{"id":7},{"id":8}]}"#, "/orders"),
      ("/collections/1", #"{"results":[{"id":7}],"total":1}"#, "/results"),
      ("/channels/1/history", #"{"ok":true,"messages":[{"id":7,"text":"a"}],"has_more":false}"#, "/messages"),
    ])
  func lists(path: String, body: String, records: String) throws {
    let found = try finding("https://api.example\(path)", of: ["parent.id=1"], body: body).resource
    #expect(!found.isDetail && found.records.description == records)
  }

  @Test("55: without --of one record is refused, and the hint names --of")
  func noParent() throws {
    let failure = try #require(throws: Failure.self) {
      try finding("https://api.example/pokemon/1", of: [], body: #"{"id":1,"height":7}"#)
    }
    #expect(failure.kind == .badAnswer && failure.hint?.contains("--of RESOURCE.COLUMN=VALUE") == true)
  }

  // MARK: Names

  @Test("55: a child has neither its parent's name nor its parent's column <parent>_id, and no since")
  func names() throws {
    let body = #"[{"id":1,"issue_id":5,"updated_at":"2026-01-01T00:00:00Z"}]"#
    let found = try finding("https://api.example/issues/5/issues", of: ["issue.number=5"], body: body)
    #expect(found.resource.name == "child_issue")
    #expect(found.resource.columns.map(\.name) == ["id", "issue_id_2", "updated_at"])
    let text = Inference.child(found)
    #expect(!text.contains("since = ") && text.contains("# each = { of = \"issue\", changed = [\"updated_at\"] }"))
    #expect(text.contains("# Put it below [resource.issue], in a file with base_url = \"https://api.example\""))
    #expect(!text.contains("\n[upstream]"))
  }

  // MARK: Proposals for children

  @Test(
    "55: an address below the record's own, or one with a counter beside it, gives a comment with each",
    arguments: [
      (#""url":"https://a.example/issues/1","comments_url":"https://a.example/issues/1/comments""#, ""),
      (
        #""comments":3,"comments_url":"https://a.example/c?i=1""#,
        #", changed = ["comments"], empty = { comments = 0 }"#
      ),
      (
        #""comment_count":3,"comments_url":"https://a.example/c?i=1""#,
        #", changed = ["comment_count"], empty = { comment_count = 0 }"#
      ),
    ])
  func proposed(fields: String, conditions: String) throws {
    let text = try finding("https://a.example/issues", of: [], body: #"[{"id":1,\#(fields)}]"#).toml
    let comment = """
      # [resource.comment]
      # path = "{issue.comments_url}"
      # each = { of = "issue"\(conditions) }
      """
    #expect(text.contains(comment), "\(text)")
    #expect(text.contains("rosterd infer URL --of issue.comments_url=URL"))
  }

  @Test(
    "55: a template, another host, or an address elsewhere gives no comment with each",
    arguments: [
      #""url":"https://a.example/issues/1","labels_url":"https://a.example/issues/1/labels{/name}""#,
      #""url":"https://b.example/issues/1","comments_url":"https://b.example/issues/1/comments""#,
      #""url":"https://a.example/issues/1","repository_url":"https://a.example/repos/1""#,
      #""comments":3,"comments_url":"none""#,
    ])
  func notProposed(fields: String) throws {
    let text = try finding("https://a.example/issues", of: [], body: #"[{"id":1,"a":1,"b":2,"c":3,\#(fields)}]"#).toml
    #expect(!text.contains("each = "), "\(text)")
  }

  @Test("55: records of a name and an address alone give a comment with their details")
  func proposedDetail() throws {
    let found = try Sample.pokeAPI.finding()
    #expect(found.toml.contains("# [resource.pokemon_detail]\n# path = \"{pokemon.url}\"\n"), "\(found.toml)")
    #expect(found.toml.contains("# pages = { style = \"record\" }"))
  }
}
