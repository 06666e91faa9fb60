import RosterTestSupport
import Testing

@testable import RosterDefinition

/// A fault is one line with the file, the line, the key, the problem and the allowed values.
@Suite("Definitions: faults")
struct DefinitionFaultTests {
  let workspace = Workspace()

  /// The keys of a definition, as a fault names them.
  private static let names = [
    "path, query, raw, headers, base_url, method, body, format, records, shape, row_names, key, table, where, search",
    "by_key, by_key_records, removal, max_removal, audit_every, expect, partial, no_records, list_of_one, inline, windows, pages, columns, lists, since, each",
  ].joined(separator: ", ")

  @Test("The definition of this suite is valid without its faults")
  func good() throws {
    #expect(try workspace.faults(FaultyDefinition.start + FaultyDefinition.columns).isEmpty)
  }

  @Test(
    "53: faults of a resource's keys, from line 3 on",
    arguments: faultTable(
      #"""
      id = 1
      => 3: resource.thing.id: is unknown; allowed: \#(names)
      colums = {}
      => 3: resource.thing.colums: is unknown; allowed: \#(names)
      colums = ""
      => 3: resource.thing.colums: is unknown; allowed: \#(names)
      shape = "list"
      => 3: resource.thing.shape: "list" is unknown; allowed: objects values map rows
      shape = "map"
      row_names = "/columns"
      => 4: resource.thing.row_names: needs shape = "rows"; allowed: row_names with shape = "rows"
      by_key_records = "/data"
      => 3: resource.thing.by_key_records: needs by_key; allowed: by_key_records with by_key
      where = { "/a" = { is = "geheim" } }
      => 3: resource.thing.where."/a": is a table without "not", or with another member; allowed: JSON Pointers such as "/state" with "absent", "present", a scalar to be equal to, or { not = … }
      where = { "/a" = { not = [] } }
      => 3: resource.thing.where."/a": not = [] is true for each record; allowed: JSON Pointers such as "/state" with "absent", "present", a scalar to be equal to, or { not = … }
      where = { "/a" = { not = ["geheim", {}] } }
      => 3: resource.thing.where."/a": a table is not a scalar; allowed: JSON Pointers such as "/state" with "absent", "present", a scalar to be equal to, or { not = … }
      query = 1
      => 3: resource.thing.query: a number is not a table of scalars; allowed: names with strings, integers, floats, booleans, or lists of them
      query = { state = [["geheim"]] }
      => 3: resource.thing.query.state: a list is not a scalar; allowed: names with strings, integers, floats, booleans, or lists of them
      query = { "" = 1 }
      => 3: resource.thing.query."": is no parameter's name; allowed: names with strings, integers, floats, booleans, or lists of them
      method = "PUT"
      => 3: resource.thing.method: "PUT" is unknown; allowed: GET POST
      method = "POST"
      body = [1]
      => 4: resource.thing.body: a list is not a table; allowed: a table of what JSON can hold
      method = "POST"
      body = { a = [ { b = 2020-01-01 } ] }
      => 4: resource.thing.body: a date, a time, inf or nan in it is not JSON; allowed: a table of what JSON can hold
      records = "data"
      => 3: resource.thing.records: "data" is no JSON Pointer; allowed: a JSON Pointer such as "/user/name", of at most 100 names
      records = "/a~2"
      => 3: resource.thing.records: "/a~2" is no JSON Pointer; allowed: a JSON Pointer such as "/user/name", of at most 100 names
      key = "id"
      => 3: resource.thing.key: "id" is no JSON Pointer; allowed: a JSON Pointer such as "/user/name", of at most 100 names, or a list of 2 to 6 of them
      key = "/~"
      => 3: resource.thing.key: "/~" is no JSON Pointer; allowed: a JSON Pointer such as "/user/name", of at most 100 names, or a list of 2 to 6 of them
      key = 1
      => 3: resource.thing.key: 1 is an integer, not a string; allowed: a JSON Pointer such as "/user/name", of at most 100 names, or a list of 2 to 6 of them
      table = "my things"
      => 3: resource.thing.table: "my things" is no plain identifier; allowed: a plain identifier: letters, digits and _, no digit first
      table = "1st"
      => 3: resource.thing.table: "1st" is no plain identifier; allowed: a plain identifier: letters, digits and _, no digit first
      table = "Syncs"
      => 3: resource.thing.table: "Syncs" is a table of rosterd's own; allowed: a plain identifier that no other table has, in any case
      table = "sqlite_x"
      => 3: resource.thing.table: "sqlite_x" is a name that SQLite keeps for itself; allowed: a plain identifier that no other table has, in any case
      table = "SQLite"
      => 3: resource.thing.table: "SQLite_fts" is a name that SQLite keeps for itself, and its index of words has it; allowed: a plain identifier that no other table has, in any case
      table = "Cache_OLD_0"
      => 3: resource.thing.table: "Cache_OLD_0" is a name that rosterd keeps for tables of a definition that changed; allowed: a plain identifier that no other table has, in any case
      table = "cache_pages"
      => 3: resource.thing.table: "cache_pages" is a table of rosterd's own; allowed: a plain identifier that no other table has, in any case
      table = "syncs_by_outcome"
      => 3: resource.thing.table: "syncs_by_outcome" is a table of rosterd's own; allowed: a plain identifier that no other table has, in any case
      table = ["a"]
      => 3: resource.thing.table: a list is not a string; allowed: a plain identifier: letters, digits and _, no digit first
      where = { state = "open" }
      => 3: resource.thing.where.state: is no JSON Pointer to a place in a record; allowed: JSON Pointers such as "/state" with "absent", "present", a scalar to be equal to, or { not = … }
      where = { "/state" = ["geheim"] }
      => 3: resource.thing.where."/state": a list is not a scalar; allowed: JSON Pointers such as "/state" with "absent", "present", a scalar to be equal to, or { not = … }
      where = ["/state"]
      => 3: resource.thing.where: a list is not a table of conditions; allowed: JSON Pointers such as "/state" with "absent", "present", a scalar to be equal to, or { not = … }
      search = "name"
      => 3: resource.thing.search: "name" is a string, not a list of strings; allowed: names of text columns
      search = ["nam"]
      => 3: resource.thing.search: "nam" is no column; allowed: names of text columns
      search = ["id"]
      => 3: resource.thing.search: "id" is integer; allowed: names of text columns
      search = ["name", "name"]
      => 3: resource.thing.search: "name" is given twice; allowed: names of text columns
      search = [1]
      => 3: resource.thing.search: 1 is an integer, not a string; allowed: names of text columns
      by_key = "/things/{id}"
      => 3: resource.thing.by_key: "/things/{id}" has neither {key} nor {keys}; allowed: a path below base_url that begins with /, with {key} or {keys} in it; or { path = …, method = "POST", body = … }
      by_key = "things/{key}"
      => 3: resource.thing.by_key: "things/{key}" does not begin with /; allowed: a path below base_url that begins with /, with {key} or {keys} in it; or { path = …, method = "POST", body = … }
      by_key = "/things?api_key=geheim"
      => 3: resource.thing.by_key: "/things?***" has neither {key} nor {keys}; allowed: a path below base_url that begins with /, with {key} or {keys} in it; or { path = …, method = "POST", body = … }
      by_key = "/things/{key}/{keys}?my=geheim"
      => 3: resource.thing.by_key: "/things/{key}/{keys}?***" has both {key} and {keys}; allowed: a path below base_url that begins with /, with {key} or {keys} in it; or { path = …, method = "POST", body = … }
      by_key = "/things/{key}?token=geheim geheim"
      => 3: resource.thing.by_key: "/things/{key}?***" is not a URL; allowed: a path below base_url that begins with /, with {key} or {keys} in it; or { path = …, method = "POST", body = … }
      by_key = "https://user:geheim@host/things/{key}"
      => 3: resource.thing.by_key: "https://***@host/things/{key}" does not begin with /; allowed: a path below base_url that begins with /, with {key} or {keys} in it; or { path = …, method = "POST", body = … }
      by_key = "/things/{key}/{keys}"
      => 3: resource.thing.by_key: "/things/{key}/{keys}" has both {key} and {keys}; allowed: a path below base_url that begins with /, with {key} or {keys} in it; or { path = …, method = "POST", body = … }
      removal = "ask"
      => 3: resource.thing.removal: "ask" needs by_key; allowed: twice, never, or a by_key
      removal = "always"
      => 3: resource.thing.removal: "always" is unknown; allowed: ask twice never
      max_removal = 101
      => 3: resource.thing.max_removal: 101 is out of range; allowed: 0 to 100
      max_removal = 2.5
      => 3: resource.thing.max_removal: 2.5 is a float, not an integer; allowed: 0 to 100
      pages = "link"
      => 3: resource.thing.pages: "link" is a string, not a table; allowed: [resource.thing.pages]
      key = "/number"
      => 3: resource.thing.key: no column is at "/number"; allowed: the place of a column of the type integer or text
      """#))
  func keys(text: String, sentence: String) throws {
    try workspace.expect(sentence, text: FaultyDefinition.start + text + "\n" + FaultyDefinition.columns)
  }

  @Test("All faults of all definitions are reported at once by line, and each refused part only once")
  func allAtOnce() throws {
    let text = """
      [resource.one]
      query = { a = [], b = 1979-05-27 }
      records = "data"
      search = ["name", "nobody"]
      removal = "ask"
      [resource.one.pages]
      style = "cursor"
      last = "/n"
      [resource.one.columns]
      extra = "/e"
      Name = "/x"
      name = { at = "/y", type = "json" }
      [resource.one.lists.syncs]
      columns = { position = "" }
      [resource.two]
      path = "/two"
      table = "ONE"
      columns = { id = { at = "/id", type = "int" } }
      """
    let faults = try workspace.faults(text).map { $0.split(separator: ": ").prefix(2).joined(separator: " ") }
    #expect(
      faults.sorted() == [
        "rosterd.toml:1 resource.one.key", "rosterd.toml:1 resource.one.path",
        "rosterd.toml:10 resource.one.columns.extra", "rosterd.toml:12 resource.one.columns.name",
        "rosterd.toml:13 resource.one.lists.syncs", "rosterd.toml:13 resource.one.lists.syncs.at",
        "rosterd.toml:14 resource.one.lists.syncs.columns.position", "rosterd.toml:17 resource.two.table",
        "rosterd.toml:18 resource.two.columns.id.type", "rosterd.toml:2 resource.one.query.a",
        "rosterd.toml:2 resource.one.query.b", "rosterd.toml:3 resource.one.records",
        "rosterd.toml:4 resource.one.search", "rosterd.toml:4 resource.one.search",
        "rosterd.toml:5 resource.one.removal", "rosterd.toml:6 resource.one.pages.at",
        "rosterd.toml:6 resource.one.pages.param", "rosterd.toml:8 resource.one.pages.last",
      ])
  }

  @Test(
    "53: faults of a column in line 5",
    arguments: faultTable(
      #"""
      name = 1
      => 5: resource.thing.columns.name: 1 is an integer, not a column; allowed: a JSON Pointer such as "/name", or { at = …, type = …, null = … }
      name = "name"
      => 5: resource.thing.columns.name: "name" is no JSON Pointer; allowed: a JSON Pointer such as "/user/name", of at most 100 names
      name = ""
      => 5: resource.thing.columns.name: has no place in the record; allowed: a JSON Pointer such as "/name"
      name = { type = "text" }
      => 5: resource.thing.columns.name: has no place in the record; allowed: a JSON Pointer such as "/name"
      name = { at = "/n", type = "date" }
      => 5: resource.thing.columns.name.type: "date" is unknown; allowed: text integer real boolean json timestamp
      name = { at = "/n", nul = true }
      => 5: resource.thing.columns.name.nul: is unknown; allowed: at, type, null
      name = { at = "/n", nul = "" }
      => 5: resource.thing.columns.name.nul: is unknown; allowed: at, type, null
      name = { at = "/n", null = 1 }
      => 5: resource.thing.columns.name.null: 1 is an integer, not a boolean or a list of values; allowed: true or false, or a list of values such as ["", "0000-00-00"]
      """#))
  func columns(text: String, sentence: String) throws {
    let start = FaultyDefinition.start + "[resource.thing.columns]\nid = { at = \"/id\", type = \"integer\" }\n"
    try workspace.expect(sentence, text: start + text + "\n")
  }

  @Test(
    "53: faults of the places of parameters in the body of a POST, from line 4 on",
    arguments: faultTable(
      #"""
      body = { a = 1 }
      pages.param = "/a/b"
      => 5: resource.thing.pages.param: "/a/b" leads through something in body that is neither a table nor an existing element; allowed: a place in a table
      pages.param = "/a/c"
      pages.size = 5
      pages.size_param = "/a/c/d"
      => 6: resource.thing.pages.size_param: "/a/c/d" and "/a/c", which is param, are one in the other; allowed: a parameter of its own
      pages.param = "/a/c/d"
      pages.size = 5
      pages.size_param = "/a"
      => 6: resource.thing.pages.size_param: "/a" and "/a/c/d", which is param, are one in the other; allowed: a parameter of its own
      pages.param = "/a/c"
      pages.size = 5
      pages.size_param = "/a/c"
      => 6: resource.thing.pages.size_param: "/a/c" is param too; allowed: a parameter of its own
      body = { a = [{}] }
      pages.param = "/a/1/b"
      => 5: resource.thing.pages.param: "/a/1/b" leads through something in body that is neither a table nor an existing element; allowed: a place in a table
      """#))
  func bodies(text: String, sentence: String) throws {
    let text = FaultyDefinition.start + "method = \"POST\"\n" + text + "\n" + FaultyDefinition.columns
    try workspace.expect(sentence, text: text)
  }

  @Test(
    "53: a text without a valid definition",
    arguments: faultTable(
      #"""
      resource = 1
      => 1: resource: 1 is an integer, not a table; allowed: [resource]
      [resource]
      thing = 1
      => 2: resource.thing: 1 is an integer, not a table; allowed: [resource.thing]
      [resource.abbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb]
      path = "/t"
      columns.id = "/id"
      => 1: resource.abbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb: is no resource's name; allowed: a to z first, then a to z, digits and _, 40 at most
      [[resource.thing]]
      path = "/t"
      => 1: resource.thing: a list is not a table; allowed: [resource.thing]
      [resource.thing]
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 1: resource.thing.path: is missing; allowed: a path below base_url that begins with /
      [resource.thing]
      path = ""
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 2: resource.thing.path: is missing; allowed: a path below base_url that begins with /
      [resource.thing]
      path = "things"
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 2: resource.thing.path: "things" does not begin with /; allowed: a path below base_url that begins with /, without query and fragment
      [resource.thing]
      path = "/t?token=geheim"
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 2: resource.thing.path: "/t?***" holds a query; allowed: a path below base_url that begins with /, without query and fragment
      [resource.thing]
      path = "/t#a"
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 2: resource.thing.path: "/t#a" holds a fragment; allowed: a path below base_url that begins with /, without query and fragment
      [resource.thing]
      path = "/t t"
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 2: resource.thing.path: "/t t" is not a URL; allowed: a path below base_url that begins with /, without query and fragment
      [resource.thing]
      path = 5
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 2: resource.thing.path: 5 is an integer, not a string; allowed: a path below base_url that begins with /, without query and fragment
      [resource.changes]
      path = "/c"
      columns = { id = { at = "/id", type = "integer" }, name = "/name" }
      => 1: resource.changes: "changes" is a table of rosterd's own; allowed: a plain identifier that no other table has, in any case
      [resource.cache_old_0]
      path = "/c"
      columns = { id = "/id" }
      => 1: resource.cache_old_0: "cache_old_0" is a name that rosterd keeps for tables of a definition that changed; allowed: a plain identifier that no other table has, in any case
      [resource.thing]
      path = "/things"
      search = ["rank"]
      columns = { id = { at = "/id", type = "integer" }, name = "/name", rank = "/rank" }
      => 3: resource.thing.search: "rank" is SQLite's own in an index of words; allowed: columns of other names
      [resource.thing]
      path = "/things"
      search = ["Rowid"]
      columns = { id = { at = "/id", type = "integer" }, name = "/name", Rowid = "/r" }
      => 3: resource.thing.search: "rowid" is SQLite's own in an index of words; allowed: columns of other names
      [resource.thing]
      path = "/things"
      search = ["thing_fts"]
      columns = { id = { at = "/id", type = "integer" }, name = "/name", thing_fts = "/r" }
      => 3: resource.thing.search: "thing_fts" is SQLite's own in an index of words; allowed: columns of other names
      [resource.thing]
      path = "/things"

      => 1: resource.thing.columns: there are no columns; allowed: one column at least
      [resource.thing]
      path = "/things"
      columns = {}

      => 3: resource.thing.columns: there are no columns; allowed: one column at least
      [resource.thing]
      path = "/things"
      columns = "/id"

      => 3: resource.thing.columns: "/id" is a string, not a table; allowed: [resource.thing.columns]
      [resource.thing]
      path = "/things"
      columns = { name = "/name" }
      => 1: resource.thing.key: no column is at "/id"; allowed: the place of a column of the type integer or text
      [resource.thing]
      path = "/things"
      columns = { id = { at = "/id", type = "real" } }
      => 1: resource.thing.key: the column id, which is at "/id", is real; allowed: the place of a column of the type integer or text
      [resource.thing]
      path =\#u{20}
      => 2: resource.thing.path: is not TOML: error while parsing key-value pair: encountered end-of-file; allowed: a path below base_url that begins with /, without query and fragment, in TOML 1.0, once
      [resource.thing]
      path = "/a"
      path = "/b"
      => 3: resource.thing.path: is not TOML: error while parsing key-value pair: cannot redefine existing string 'path'; allowed: a path below base_url that begins with /, without query and fragment, in TOML 1.0, once
      """#))
  func files(text: String, sentence: String) throws {
    try workspace.expect(sentence, text: text)
  }
}
