import RosterTestSupport
import Testing

@testable import RosterConfiguration

@Suite("Section 2, Resources: faults")
struct DefinitionFaultTests {
  let workspace: Workspace

  init() throws { workspace = try Workspace() }

  /// Six lines that are good, the last of them in `columns`.
  static let good = """
    [resource.thing]
    path = "/things"
    [resource.thing.columns]
    id = { at = "/id", type = "integer" }
    name = "/name"
    size = { at = "/size", type = "integer" }

    """

  @Test(
    "78: one line names file, line, key, what is wrong and what is allowed",
    arguments: [
      // Keys and their values.
      (
        "[resource.thing]\nid = 1\npath = \"/t\"\ncolumns.id = \"/id\"",
        "2: resource.thing.id: is unknown; allowed: path, query, method, body, records, key, table, where, search, by_key, removal, max_removal, pages, columns, lists"
      ),
      ("resource = 1", "1: resource: 1 is an integer, not a table; allowed: [resource]"),
      ("[resource]\nthing = 1", "2: resource.thing: 1 is an integer, not a table; allowed: [resource.thing]"),
      (
        "[resource.Thing]\npath = \"/t\"\ncolumns.id = \"/id\"",
        "1: resource.Thing: is no resource's name; allowed: a to z first, then a to z, digits and _, 40 at most"
      ),
      (
        "[resource.thing]\npath = \"t\"\ncolumns.id = \"/id\"",
        "2: resource.thing.path: \"t\" does not begin with /; allowed: a path below base_url that begins with /, without query and fragment"
      ),
      (
        "[resource.thing]\n\ncolumns.id = \"/id\"",
        "1: resource.thing.path: is missing; allowed: a path below base_url that begins with /"
      ),
      (
        "[resource.thing]\npath = \"\"\ncolumns.id = \"/id\"",
        "2: resource.thing.path: is missing; allowed: a path below base_url that begins with /"
      ),
      (
        "[resource.thing]\npath = \"/t?a=1\"\ncolumns.id = \"/id\"",
        "2: resource.thing.path: \"/t?a=1\" holds a query; allowed: a path below base_url that begins with /, without query and fragment"
      ),
      (
        "[resource.thing]\npath = \"/t\"\ncolumns.id = \"/id\"\nkey = \"id\"",
        "4: resource.thing.key: \"id\" is no JSON Pointer; allowed: a JSON Pointer such as \"/user/name\", of at most 100 names"
      ),
      (
        "[resource.thing]\npath = \"/t\"\ncolumns.id = \"/id\"\nrecords = \"/a~2\"",
        "4: resource.thing.records: \"/a~2\" is no JSON Pointer; allowed: a JSON Pointer such as \"/user/name\", of at most 100 names"
      ),
    ])
  func refused(text: String, sentence: String) throws {
    #expect(try workspace.faults(text) == ["rosterd.toml:\(sentence)"])
  }
}
