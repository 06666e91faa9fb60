import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Definitions: reading definitions")
struct DefinitionTests {
  let workspace = Workspace()

  /// An example of each key, without the keys of other styles.
  static let issue = """
    [resource.issue]
    path = "/repos/octocat/hello/issues"
    query = { state = "all", since = 2020, ratio = 0.5, deep = true, a = "" }
    method = "GET"
    body = {}
    records = ""
    key = "/number"
    table = "issues"
    where = { "/pull_request" = "absent", "/user" = "present", "/state" = "open", "/a~1b" = 1, "/c" = 1.5, "/d" = false, "/e" = { not = "x" }, "/f" = { not = [1, true] } }
    search = ["title", "body"]
    by_key = "/repos/octocat/hello/issues/{key}"
    removal = "twice"
    max_removal = 5

    [resource.issue.pages]
    style = "link"
    param = ""
    first = ""
    start = ""
    size = 100
    size_param = "per_page"
    at = ""
    more = "/more"
    last = ""
    count = "header:X-Total"
    short = true
    beyond = [404, 410]

    [resource.issue.columns]
    number = { at = "/number", type = "integer" }
    title = "/title"
    body = { at = "/body" }
    author = "/user/login"
    closed_at = { at = "/closed_at", type = "text", null = true }
    reactions = { at = "/reactions", type = "json" }
    weight = { at = "/weight", type = "real" }
    draft = { type = "boolean", at = "/draft" }

    [resource.issue.lists.issue_labels]
    at = "/labels"
    columns = { name = "/name", color = "/color", all = { type = "json" } }

    [resource.issue.lists.assignees]
    at = "/assignees"
    columns.login = ""

    """

  @Test("Every key of a definition is read, with columns, lists and parameters in the file's order")
  func everything() throws {
    let at = { (text: String) in JSONPointer(text) ?? JSONPointer() }
    let expected = Resource(
      name: "issue", path: "/repos/octocat/hello/issues",
      query: [
        .init("state", .text("all")), .init("since", .integer(2020)), .init("ratio", .real(0.5)),
        .init("deep", .boolean(true)), .init("a", .text("")),
      ],
      key: at("/number"), table: "issues",
      conditions: [
        .init(at("/pull_request"), .absent), .init(at("/user"), .present), .init(at("/state"), .equal(.text("open"))),
        .init(at("/a~1b"), .equal(.integer(1))), .init(at("/c"), .equal(.real(1.5))),
        .init(at("/d"), .equal(.boolean(false))), .init(at("/e"), .differs([.text("x")])),
        .init(at("/f"), .differs([.integer(1), .boolean(true)])),
      ], search: ["title", "body"], byKey: "/repos/octocat/hello/issues/{key}", removal: .twice, maxRemoval: 5,
      pages: .init(
        .link, size: .init(100, param: .query("per_page")), more: .body(at("/more")), count: .header("X-Total"),
        short: true, beyond: [404, 410]),
      columns: [
        .init("number", at: at("/number"), .integer), .init("title", at: at("/title")), .init("body", at: at("/body")),
        .init("author", at: at("/user/login")), .init("closed_at", at: at("/closed_at"), isNullable: true),
        .init("reactions", at: at("/reactions"), .json), .init("weight", at: at("/weight"), .real),
        .init("draft", at: at("/draft"), .boolean),
      ],
      lists: [
        .init(
          table: "issue_labels", at: at("/labels"),
          columns: [.init("name", at: at("/name")), .init("color", at: at("/color")), .init("all", at: at(""), .json)]),
        .init(table: "assignees", at: at("/assignees"), columns: [.init("login", at: at(""))]),
      ])
    #expect(try workspace.load(Self.issue).resources == [expected])
  }

  @Test("Missing keys have the documented defaults")
  func defaults() throws {
    let text = "[resource.thing]\npath = \"/things\"\ncolumns = { id = { at = \"/id\", type = \"integer\" } }"
    let columns = [Resource.Column("id", at: JSONPointer(segments: ["id"]), .integer)]
    let least = Resource(name: "thing", path: "/things", columns: columns)
    #expect(try workspace.load(text).resources == [least])
    #expect(least.removal == .twice && least.table == "thing" && least.pages.style == .number())
    #expect(try workspace.load("\(text)\npages = \"\"\nlists = \"\"\ntable = \"\"").resources == [least])
    let asking = try workspace.load("\(text)\nby_key = \"/things?ids={keys}\"").resources
    #expect(asking[0].removal == .ask && asking[0].byKey == "/things?ids={keys}")
  }

  @Test(
    "Each style has its keys, and optional ones may be missing",
    arguments: [
      ("style = \"\"", .init(.number())), ("", .init(.number())),
      (
        "param = \"p\"\nfirst = 0\nlast = \"header:X-Pages\"\ncount = \"/n\"",
        .init(.number(param: .query("p"), first: 0, last: .header("X-Pages")), count: .init("/n"))
      ),
      (
        "value = \"(page:{page})\"\ndone = \"/done\"",
        .init(
          .number(), value: .init("(page:{page})", placeholder: "{page}"),
          done: .body(JSONPointer(segments: ["done"])))
      ), ("value = \"{page}\"", .init(.number())),
      ("style = \"offset\"\nparam = \"skip\"", .init(.offset(param: .query("skip")))),
      ("style = \"offset\"\nparam = \"skip\"\nfirst = 7", .init(.offset(param: .query("skip"), first: 7))),
      (
        "style = \"cursor\"\nparam = \"c\"\nat = \"/meta/next\"",
        .init(.cursor(param: .query("c"), at: .body(JSONPointer(segments: ["meta", "next"]))))
      ),
      (
        "style = \"cursor\"\nparam = \"c\"\nstart = \"*\"\nat = \"header:X-Next\"",
        .init(.cursor(param: .query("c"), start: "*", at: .header("X-Next")))
      ),
      (
        "style = \"cursor\"\nparam = \"header:Range\"\nat = \"header:Next-Range\"",
        .init(.cursor(param: .header("Range"), at: .header("Next-Range")))
      ),
      (
        "style = \"cursor\"\nparam = \"*\"\nat = \"/continue\"",
        .init(.cursor(param: .everyMember, at: .body(JSONPointer(segments: ["continue"]))))
      ),
      ("style = \"next\"\nat = \"/next\"", .init(.next(at: .body(JSONPointer(segments: ["next"]))))),
      ("style = \"link\"\nsize = 3", .init(.link, size: .init(3))),
      ("style = \"after\"\nparam = \"a\"", .init(.after(param: .query("a"), at: JSONPointer(segments: ["id"])))),
      (
        "style = \"after\"\nparam = \"a\"\nat = \"/cursor\"",
        .init(.after(param: .query("a"), at: JSONPointer(segments: ["cursor"])))
      ), ("style = \"one\"", .init(.one)),
    ] as [(String, Resource.Pages)])
  func styles(text: String, pages: Resource.Pages) throws {
    let read = try workspace.load(Self.thing + "[resource.thing.pages]\n\(text)\n")
    #expect(read.resources[0].pages == pages)
    #expect(try workspace.load(read.rendered()).resources == read.resources)
  }

  static let thing = """
    [resource.thing]
    path = "/things"
    [resource.thing.columns]
    id = { at = "/id", type = "integer" }

    """

  static let notion = """
    [resource.page]
    path = "/search"
    method = "POST"
    records = "/results"
    columns.id = "/id"
    body = { z = { "filter by" = [1, 2.5, "x", { b = true, a = [] }] }, page = {} }
    pages = { style = "cursor", param = "/page/start_cursor", at = "/next_cursor", more = "/has_more", size = 100, size_param = "/page/size" }

    """

  @Test("51: a list of one place is a plain key, two or three are a composite key")
  func composite() throws {
    func places(_ key: String) throws -> [JSONPointer] {
      let columns = "columns = { a = \"/a\", b = { at = \"/b\", type = \"integer\" }, c = \"/c\" }"
      return try workspace.load("[resource.x]\npath = \"/x\"\nkey = \(key)\n\(columns)").resources[0].keyPlaces
    }
    #expect(try places("[\"/a\"]").map(\.description) == ["/a"] && places("\"/b\"").map(\.description) == ["/b"])
    #expect(try places("[\"/c\", \"/a\", \"/b\"]").map(\.description) == ["/c", "/a", "/b"])
  }

  @Test("A POST has its JSON and its places in the file's order")
  func post() throws {
    let page = try workspace.load(Self.notion).resources[0]
    let list = JSONValue.list([
      .number("1"), .number("2.5"), .text("x"), .object([.init("b", .boolean(true)), .init("a", .list([]))]),
    ])
    #expect(page.method == .post)
    #expect(page.body == .object([.init("z", .object([.init("filter by", list)])), .init("page", .object([]))]))
    #expect(
      page.pages.style
        == .cursor(
          param: .body(JSONPointer(segments: ["page", "start_cursor"])),
          at: .body(JSONPointer(segments: ["next_cursor"]))))
    #expect(page.pages.size == .init(100, param: .body(JSONPointer(segments: ["page", "size"]))))
  }

  @Test("Without a resource the built-in one is used; a resource of its name replaces it")
  func builtIn() throws {
    #expect(try workspace.load("").resources == [.character])
    #expect(try workspace.load("[resource]").resources == [.character])
    #expect(try workspace.load(Self.notion + Self.thing).resources.map(\.name) == ["page", "thing"])
  }

  @Test("config/sources/rickandmorty.toml is the built-in resource and its other two")
  func rickAndMorty() throws {
    let path = "../../config/sources/rickandmorty.toml"
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: path).path
    let configuration = try workspace.load(try String(contentsOfFile: file, encoding: .utf8))
    #expect(configuration.resources == [.character, .location, .episode])
    #expect(configuration.upstream == Configuration().upstream)
  }

  @Test("A key without an effect is a warning")
  func warnings() throws {
    let text =
      Self.thing + "[resource.thing.pages]\nsize_param = \"n\"\n[resource.other]\npath = \"/o\"\nbody = { a = 1 }\n"
      + "columns.id = \"/id\""
    let file = try workspace.write(text)
    #expect(
      try Configuration.load(file: file, environment: [:], isRoot: true).warnings == [
        "resource.thing.pages.size_param says nothing without size", "resource.other.body is not sent with GET",
      ])
  }

  @Test(
    "52: {today without a valid placeholder is a warning in since too",
    arguments: [
      ("from", "from = \"{today-0d}\""), ("value", "value = \"{since}{today-7}\""),
      ("query", "query = { a = \"{today-40000d:date}\" }"), ("body", "method = \"POST\", body = { a = \"{today-7\" }"),
    ])
  func oddDayOfSince(key: String, text: String) throws {
    let definition = """
      [resource.thing]
      path = "/things"
      since = { at = "/at", param = "s", \(text) }
      columns.id = { at = "/id", type = "integer" }
      """
    let warnings = try workspace.warnings(definition)
    #expect(warnings.count == 1 && warnings[0].hasPrefix("resource.thing.since.\(key): {today"), "\(warnings)")
  }

  @Test("52: {today without a valid placeholder is a warning")
  func oddDay() throws {
    func warnings(_ query: String) throws -> [String] {
      let file = try workspace.write(
        Self.thing.replacing("[resource.thing.columns]", with: "query = { q = \"\(query)\" }\n[resource.thing.columns]")
      )
      return try Configuration.load(file: file, environment: [:], isRoot: true).warnings
    }
    #expect(try warnings("{today-7d:date}").isEmpty && warnings("{page}").isEmpty)
    #expect(try warnings("{today-7}").count == 1 && warnings("{today-0d}")[0].hasPrefix("resource.thing.query: {today"))
  }

  // MARK: What check prints

  @Test(
    "check prints resources of every kind as TOML that check accepts again",
    arguments: [
      "", issue, notion, notion + thing,
      thing + "[resource.thing.pages]\nstyle = \"one\"\n",
      "[resource.x]\npath = \"/x\"\nkey = [\"/a\", \"/b\"]\nby_key = \"/x/{key.a}?b={key.b}\"\ncolumns = { a = \"/a\", b = { at = \"/b\", type = \"integer\" } }",
      "[resource.x]\npath = \"/x\"\nshape = \"rows\"\nrow_names = \"/columns\"\ncolumns.id = \"/id\"",
      thing
        + "[resource.thing.pages]\nstyle = \"cursor\"\nparam = \"c\"\nstart = \"\\u0007\\\"*\"\nat = \"header:N\"\n",
      thing + "[resource.thing.pages]\nstyle = \"after\"\nparam = \"c\"\n",
      thing + "[resource.thing.pages]\nstyle = \"next\"\nat = \"/a~0b~1c\"\n",
      thing + "[resource.thing.pages]\nstyle = \"offset\"\nparam = \"c\"\nsize = 5\nshort = true\nbeyond = [400]\n",
      "[resource.x]\npath = \"/x\"\nquery = { \"a b\" = 1e300, \"\u{E9}\" = -7 }\ncolumns.id = { at = \"/id\", null = true }",
    ])
  func roundTrip(text: String) throws {
    let first = try workspace.load(text)
    let again = try workspace.load(first.rendered())
    #expect(again.resources == first.resources)
    #expect(again.rendered() == first.rendered())
  }

  @Test("check prints a definition with its defaults filled in")
  func rendered() throws {
    let list = "[resource.thing.lists.thing_tags]\nat = \"/tags\"\ncolumns.tag = \"\"\n"
    let text = try workspace.load(Self.thing + list).rendered()
    #expect(
      text.hasSuffix(
        """

        [resource.thing]
        path = "/things"
        query = {}
        method = "GET"
        body = {}
        records = ""
        shape = "objects"
        row_names = ""
        key = "/id"
        table = "thing"
        where = {}
        search = []
        by_key = ""
        by_key_records = ""
        removal = "twice"
        audit_every = "1d"
        expect = {}
        partial = []
        no_records = [204]
        list_of_one = false
        # max_removal: 20, as sync.max_removal has it

        [resource.thing.pages]
        style = "number"
        param = "page"
        value = ""
        first = 1
        size_param = ""
        more = ""
        done = ""
        last = ""
        count = ""
        short = false
        beyond = []
        empty = "no_sign"
        omits_false = false
        hidden = false

        [resource.thing.columns]
        id = { at = "/id", type = "integer" }

        [resource.thing.lists.thing_tags]
        at = "/tags"
        list_of_one = false
        columns = { tag = "" }

        """), "\(text)")
  }

  @Test("54: [resource] needs a restart: a reload keeps the resources, and names the key")
  func reload() throws {
    let old = try workspace.load("")
    let new = try workspace.load(Self.thing + "[sync]\nmax_removal = 7")
    #expect(new.changes(from: old).needRestart == ["resource"])
    #expect(new.changes(from: old).applied == ["sync.max_removal"])
    let next = try new.replacing(old)
    #expect(next.resources == [.character] && next.sync.maxRemoval == 7)
  }
}
