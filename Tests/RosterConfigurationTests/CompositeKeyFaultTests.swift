import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Definitions: faults of keys")
struct CompositeKeyFaultTests {
  let workspace = Workspace()

  private let columns =
    "[resource.thing.columns]\nid = { at = \"/id\", type = \"integer\" }\nname = \"/name\"\n"
    + "flag = { at = \"/flag\", type = \"boolean\" }\n"

  private static let places = "a JSON Pointer such as \"/user/name\", of at most 100 names, or a list of 2 to 6 of them"

  @Test("53: the column of a key is one of the type integer or text, whatever other column is at its place")
  func otherColumns() throws {
    let raw =
      "[resource.thing.columns]\nid_raw = { at = \"/id\", type = \"json\" }\n"
      + "id = { at = \"/id\", type = \"integer\" }\n"
    func faults(_ column: String) throws -> [String] {
      let key = "key = [\"/id\", \"/name\"]\nby_key = \"/things/{key.\(column)}/{key.name}\"\n"
      return try workspace.faults(FaultyDefinition.start + key + raw + "name = \"/name\"\n")
    }
    #expect(try faults("id").isEmpty)
    #expect(try faults("id_raw").map { $0.contains("by_key: lacks {key.id};") } == [true])
  }

  @Test(
    "53: keys of several places, from line 3 on",
    arguments: faultTable(
      #"""
      key = ["/id", "/name", "/odd", "/flag", "/a", "/b", "/c"]
      => 3: resource.thing.key: a key has 7 places; allowed: \#(places)
      key = []
      => 3: resource.thing.key: a key has 0 places; allowed: \#(places)
      key = ["/id", "/id"]
      => 3: resource.thing.key: "/id" is given twice; allowed: \#(places)
      key = ["/id", 7]
      => 3: resource.thing.key: 7 is an integer, not a string; allowed: \#(places)
      key = ["/id", "/none"]
      => 3: resource.thing.key: no column is at "/none"; allowed: the place of a column of the type integer or text
      key = ["/id", "/flag"]
      => 3: resource.thing.key: the column flag, which is at "/flag", is boolean; allowed: the place of a column of the type integer or text
      key = ["/id", "/name"]
      by_key = "/things/{key}"
      => 4: resource.thing.by_key: has {key} or {keys}, and the key has 2 places; allowed: {key} or {keys}; {key.COLUMN} of a composite key
      key = ["/id", "/name"]
      by_key = "/things/{key.id}"
      => 4: resource.thing.by_key: lacks {key.name}; allowed: {key} or {keys}; {key.COLUMN} of a composite key
      key = ["/id", "/name"]
      by_key = "/things/{key.id}/{key.name}/{key.flag}"
      => 4: resource.thing.by_key: has {key.flag}, and flag is no column of the key; allowed: {key} or {keys}; {key.COLUMN} of a composite key
      by_key = "/things/{key.id}"
      => 3: resource.thing.by_key: has {key.id}, and the key is one value; allowed: {key} or {keys}; {key.COLUMN} of a composite key
      key = ["/id", "/name"]
      pages = { style = "after", param = "a" }
      => 4: resource.thing.pages.at: is missing, and the key has several places; allowed: a JSON Pointer into a record
      """#))
  func faults(text: String, sentence: String) throws {
    try workspace.expect(sentence, text: FaultyDefinition.start + text + "\n" + columns)
  }
}
