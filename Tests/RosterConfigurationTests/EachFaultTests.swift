import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

/// Faults of children, of details, and of `inline`.
@Suite struct EachFaultTests {
  let workspace = Workspace()

  /// Seven lines, with the columns of both resources.
  private static let start = """
    [resource.page]
    path = "/pages"
    columns = { id = { at = "/id", type = "integer" }, name = "/name", flag = { at = "/flag", type = "boolean" } }
    [resource.block]
    columns = { id = "/id" }

    """

  private static let columnHint =
    "; allowed: {RESOURCE.COLUMN} of an integer or text column of the parent or of another ancestor"
  private static let nameHint = "; allowed: the name of another resource"
  private static let parentHint = nameHint + ", at most 3 steps below one without each"

  @Test(
    "53: a parent, and columns of a parent, from line 6 on",
    arguments: faultTable(
      #"""
      each = {}
      => 7: resource.block.each.of: is missing\#(parentHint)
      each = { of = 7 }
      => 7: resource.block.each.of: 7 is an integer, not a string\#(nameHint)
      each = { of = "none" }
      => 7: resource.block.each.of: "none" is no resource\#(parentHint)
      each = { of = "block" }
      => 7: resource.block.each.of: "block" is the resource itself\#(parentHint)
      each = { of = "page", x = 1 }
      => 7: resource.block.each.x: is unknown; allowed: of, changed, whole_every, empty, none
      each = { of = "page", whole_every = "never" }
      => 7: resource.block.each.whole_every: "never" needs changed; allowed: a duration, because without changed no list would be pulled again
      each = { of = "page", whole_every = "1s" }
      => 7: resource.block.each.whole_every: 1s is out of range; allowed: 1m to 100 years, with a unit: ms s m h d; or "never"
      each = { of = "page", changed = ["id", "at"] }
      => 7: resource.block.each.changed: "at" is no column of page; allowed: names of columns of the parent
      each = { of = "page", changed = ["id", "id"] }
      => 7: resource.block.each.changed: "id" is given twice; allowed: names of columns of the parent
      [resource.block.each]
      of = "page"
      [resource.block.each.empty]
      id = 0
      at = 0
      => 11: resource.block.each.empty.at: "at" is no column of page; allowed: columns of the parent, with values of their types
      each = { of = "page", empty = { id = [] } }
      => 7: resource.block.each.empty.id: a list is not a scalar; allowed: columns of the parent with "absent", "present", a scalar to be equal to, or { not = … }; or a list of such tables
      each = { of = "page", empty = { id = true } }
      => 7: resource.block.each.empty.id: true is no value of a column of type integer; allowed: columns of the parent, with values of their types
      each = { of = "page", empty = { flag = 0 } }
      => 7: resource.block.each.empty.flag: 0 is no value of a column of type boolean; allowed: columns of the parent, with values of their types
      each = { of = "page", empty = { name = "", id = { not = [1, false] } } }
      => 7: resource.block.each.empty.id: false is no value of a column of type integer; allowed: columns of the parent, with values of their types
      each = { of = "page", none = [200] }
      => 7: resource.block.each.none: 200 is out of range; allowed: integers from 400 to 599
      each = { of = "page", none = [404, 204] }
      => 7: resource.block.each.none: 204 needs no entry, because it means no records in any case; allowed: integers from 400 to 599
      """#))
  func parents(text: String, sentence: String) throws {
    try workspace.expect(sentence, text: Self.start + "path = \"/blocks\"\n\(text)\n")
  }

  @Test(
    "53: a placeholder without a value, from line 7 on",
    arguments: faultTable(
      #"""
      path = "/b/{page.id}"
      => 6: resource.block.path: {page.id} needs each\#(columnHint)
      path = "/b/{none.id}"
      \#(each)
      => 6: resource.block.path: {none.id} names no ancestor\#(columnHint)
      path = "/b/{block.id}"
      \#(each)
      => 6: resource.block.path: {block.id} names no ancestor\#(columnHint)
      path = "{page.at}"
      \#(each)
      => 6: resource.block.path: {page.at} names no column of page\#(columnHint)
      path = "{page.flag}"
      \#(each)
      => 6: resource.block.path: {page.flag} is boolean\#(columnHint)
      path = "/b"
      \#(each)
      by_key = "/b/{page.at}/{key}"
      => 8: resource.block.by_key: {page.at} names no column of page\#(columnHint)
      path = "/b"
      \#(each)
      method = "POST"
      [resource.block.query]
      a = 1
      b = "{page.x}"
      => 11: resource.block.query.b: {page.x} names no column of page\#(columnHint)
      path = "/b"
      \#(each)
      [resource.block.where]
      "/a" = { not = [1, "x{page.x}"] }
      => 9: resource.block.where."/a": {page.x} names no column of page\#(columnHint)
      path = "/b"
      \#(each)
      method = "POST"
      [resource.block.body.a]
      b = ["{page.x}"]
      => 10: resource.block.body.a.b: {page.x} names no column of page\#(columnHint)
      path = "/b"
      \#(each)
      [resource.block.since]
      at = "/at"
      param = "s"
      path = "/c/{page.x}"
      => 11: resource.block.since.path: {page.x} names no column of page\#(columnHint)
      path = "/b/{id}"
      \#(each)
      => 6: resource.block.path: "/b/{id}" is not a URL; allowed: a path below base_url that begins with /, without query and fragment
      path = "{page.name}x"
      \#(each)
      => 6: resource.block.path: "{page.name}x" does not begin with /; allowed: a path below base_url that begins with /, without query and fragment
      """#))
  func placeholders(text: String, sentence: String) throws {
    try workspace.expect(sentence, text: Self.start + text + "\n")
  }

  private static let each = "each = { of = \"page\" }"

  private func resource(_ name: String, of parent: String?, _ more: String = "") -> String {
    let each = parent.map { "each = { of = \"\($0)\" }\n" } ?? ""
    return "[resource.\(name)]\npath = \"/\(name)\"\ncolumns.id = \"/id\"\n\(each)\(more)"
  }

  @Test("53: a circle and a fourth step are refused; a third step is not, in any order of the file")
  func steps() throws {
    let three = resource("d", of: "c") + resource("c", of: "b") + resource("b", of: "a") + resource("a", of: nil)
    #expect(try workspace.faults(three).isEmpty)
    let limit = "; allowed: the name of another resource, at most 3 steps below one without each"
    try workspace.expect(
      "4: resource.e.each.of: has 4 ancestors: d, c, b, a\(limit)", text: resource("e", of: "d") + three)
    let circle = resource("a", of: "c") + resource("b", of: "a") + resource("c", of: "b") + resource("d", of: "a")
    #expect(
      try workspace.faults(circle) == [
        "rosterd.toml:4: resource.a.each.of: is part of a circle: a, c, b, a\(limit)",
        "rosterd.toml:8: resource.b.each.of: is part of a circle: b, a, c, b\(limit)",
        "rosterd.toml:12: resource.c.each.of: is part of a circle: c, b, a, c\(limit)",
      ])
  }

  @Test(
    "53: empty may have any other value",
    arguments: ["id = 1.5", "flag = { not = false }", "name = true", "flag = \"absent\"", "id = { not = [1, \"\"] }"])
  func emptyValues(condition: String) throws {
    let text = Self.start + "path = \"/pages/{page.id}\"\neach = { of = \"page\", empty = { \(condition) } }\n"
    #expect(try workspace.faults(text).isEmpty)
  }

  @Test("53: a parent cannot be called key, and another resource can")
  func key() throws {
    #expect(try workspace.faults(resource("key", of: nil)).isEmpty)
    try workspace.expect(
      "7: resource.b.each.of: a parent cannot be called key, because {key.COLUMN} is a part of a key\(Self.parentHint)",
      text: resource("key", of: nil) + resource("b", of: "key"))
  }

  @Test(
    "53: a column of a child cannot have the name of the column with the parent's record id",
    arguments: ["a_id", "A_ID"])
  func owner(column: String) throws {
    let more = "columns.\(column) = \"/x\"\n"
    #expect(
      try workspace.faults(resource("a", of: nil, more) + resource("c", of: "a", "columns.b_id = \"/x\"")).isEmpty)
    try workspace.expect(
      "8: resource.b.columns.\(column): is a column of rosterd's own: it has the record id of the parent; allowed: another name",
      text: resource("a", of: nil) + resource("b", of: "a", more))
  }

  @Test("53: a list of a child cannot have that name in changes", arguments: ["b_a_id", "a_id"])
  func ownerList(table: String) throws {
    let list = "lists.\(table) = { at = \"/x\", columns.v = \"\" }\n"
    #expect(try workspace.faults(resource("a", of: nil) + resource("c", of: "a", list)).isEmpty == (table != "a_id"))
    let faults = try workspace.faults(resource("a", of: nil) + resource("b", of: "a", list))
    #expect(
      faults.count == 1
        && faults[0].contains("b.lists.\(table): a column or list is called a_id in changes already"), "\(faults)")
  }

  @Test(
    "53: a key about requests beside inline is refused",
    arguments: [
      "path = \"/x\"", "query = { a = 1 }", "method = \"GET\"", "body = { a = 1 }", "by_key = \"/x/{key}\"",
      "pages = { style = \"one\" }", "since = { at = \"/at\", param = \"s\" }", "each = { of = \"a\" }",
      "records = \"/x\"", "shape = \"objects\"",
    ])
  func inline(key: String) throws {
    let name = key.prefix { $0 != " " }
    try workspace.expect(
      "7: resource.x.\(name): is beside inline, which sends no request; allowed: no \(name)",
      text: resource("a", of: nil) + "[resource.x]\ncolumns.id = \"/id\"\ninline = [{ id = \"1\" }]\n\(key)\n")
  }

  @Test(
    "53: two inline records with one key are refused",
    arguments: [
      ("[{ t = \"a\" }, { t = \"b\" }, { t = \"a\", id = 1 }]", "\"/t\"", "\"a\""),
      ("[{ id = 1 }, { id = 1 }]", "\"/id\"", "1"),
      ("[{ id = 1, t = \"é\" }, { id = 2, t = \"é\" }, { id = 1, t = \"é\" }]", "[\"/t\", \"/id\"]", "[\"é\", 1]"),
    ])
  func inlineTwice(records: String, key: String, named: String) throws {
    let columns = "columns = { id = { at = \"/id\", type = \"integer\" }, t = \"/t\" }"
    try workspace.expect(
      "2: resource.x.inline: two records have the key \(named); allowed: records with different keys",
      text: "[resource.x]\ninline = \(records)\nkey = \(key)\n\(columns)\n")
  }

  @Test("53: inline records with different keys are accepted, also as check prints them")
  func inlineOnce() throws {
    let records = #"[{ token = "e\u0301" }, { token = "\u00e9" }, {}, {}]"#
    let text = "[resource.x]\nkey = \"/token\"\ncolumns.token = \"/token\"\ninline = \(records)\n"
    let resource = try #require(try workspace.load(text).resources.first)
    let printed = resource.rendered(maxRemoval: 20)
    #expect(try workspace.load(printed).resources.first?.inline == resource.inline)
  }

  @Test(
    "Records that are no tables, or no JSON, are refused, and inline needs no path",
    arguments: faultTable(
      #"""
      inline = { a = 1 }
      => a table is not a list of tables
      inline = [1]
      => a number is not a table
      inline = [{ a = 2026-01-01 }]
      => a date, a time, inf or nan in it is not JSON
      """#))
  func records(text: String, problem: String) throws {
    try workspace.expect(
      "3: resource.x.inline: \(problem); allowed: [[resource.NAME.inline]] for each record",
      text: "[resource.x]\ncolumns.id = \"/id\"\n\(text)\n")
  }

  @Test(
    "53: a detail has neither a key nor since, and is asked for by path only",
    arguments: faultTable(
      #"""
      key = "/id"
      => 6: resource.b.key: a detail has the key of its parent; allowed: no key
      since = { at = "/at", param = "s" }
      => 6: resource.b.since: the style "record" has no list of changed records; allowed: no since
      by_key = "/b/{key}"
      => 6: resource.b.by_key: a detail has no key: path asks for it alone; allowed: no by_key
      """#))
  func detail(text: String, sentence: String) throws {
    let start =
      "[resource.b]\npath = \"/b/{a.id}\"\neach = { of = \"a\" }\npages = { style = \"record\" }\ncolumns.x = \"/x\"\n"
    #expect(try workspace.faults(start + resource("a", of: nil)).isEmpty)
    try workspace.expect(sentence, text: start + text + "\n" + resource("a", of: nil))
  }

  @Test("53: since and the record style exclude each other without each too")
  func since() throws {
    let since = "since = { at = \"/at\", param = \"s\", pages = { style = \"record\" } }\n"
    try workspace.expect(
      "4: resource.a.since: the style \"record\" has no list of changed records; allowed: no since",
      text: resource("a", of: nil, since))
    try workspace.expect(
      "5: resource.a.by_key: its answers are lists, and the style \"record\" has none; allowed: no by_key",
      text: resource("a", of: nil, "pages = { style = \"record\" }\nby_key = \"/a/{key}\"\nshape = \"values\"\n"))
  }
}
