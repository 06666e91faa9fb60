import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Definitions: faults of columns and lists")
struct ColumnFaultTests {
  let workspace = Workspace()

  @Test(
    "53: faults of columns and of further resources, from line 6 on",
    arguments: faultTable(
      #"""
      [resource.other]
      path = "/o"
      table = "THING"
      columns.id = "/id"
      => 8: resource.other.table: "thing" is a table of resource.thing already; allowed: a plain identifier that no other table has, in any case
      [resource.other]
      path = "/o"
      table = "thing_fts_data"
      columns.id = "/id"
      => 8: resource.other.table: "thing_fts_data" is of the index of words of resource.thing; allowed: a plain identifier that no other table has, in any case
      NAME = "/x"

      => 6: resource.thing.columns.NAME: is name but for case; allowed: letters, digits and _, no digit first; none of record_id, extra, first_sync, changed_sync; each once, in any case
      "na me" = "/x"

      => 6: resource.thing.columns."na me": is no plain identifier; allowed: letters, digits and _, no digit first; none of record_id, extra, first_sync, changed_sync; each once, in any case
      1st = "/x"

      => 6: resource.thing.columns.1st: is no plain identifier; allowed: letters, digits and _, no digit first; none of record_id, extra, first_sync, changed_sync; each once, in any case
      record_id = "/x"

      => 6: resource.thing.columns.record_id: is a column of rosterd's own; allowed: letters, digits and _, no digit first; none of record_id, extra, first_sync, changed_sync; each once, in any case
      Extra = "/x"

      => 6: resource.thing.columns.Extra: is a column of rosterd's own; allowed: letters, digits and _, no digit first; none of record_id, extra, first_sync, changed_sync; each once, in any case
      first_sync = "/x"

      => 6: resource.thing.columns.first_sync: is a column of rosterd's own; allowed: letters, digits and _, no digit first; none of record_id, extra, first_sync, changed_sync; each once, in any case
      changed_sync = "/x"

      => 6: resource.thing.columns.changed_sync: is a column of rosterd's own; allowed: letters, digits and _, no digit first; none of record_id, extra, first_sync, changed_sync; each once, in any case
      count = { at = "/count", type = "integer", null = false }

      => 6: resource.thing.columns.count.null: false has no effect: a column of the type integer is NULL if the value is absent; allowed: true, or nothing; false is for text
      [resource.thing]

      => 6: resource.thing: is not TOML: error while parsing table header: cannot redefine existing table '…'; allowed: TOML 1.0, each key and table once
      """#))
  func columns(text: String, sentence: String) throws {
    try workspace.expect(sentence, text: FaultyDefinition.start + FaultyDefinition.columns + text)
  }

  @Test(
    "53: faults of lists, from line 6 on",
    arguments: faultTable(
      #"""
      [resource.thing.lists.thing]
      at = "/l"
      columns.a = ""
      => 6: resource.thing.lists.thing: "thing" is a table of resource.thing already; allowed: a plain identifier that no other table has, in any case
      [resource.thing.lists.REJECTS]
      at = "/l"
      columns.a = ""
      => 6: resource.thing.lists.REJECTS: "REJECTS" is a table of rosterd's own; allowed: a plain identifier that no other table has, in any case
      [resource.thing.lists.cache_old_0_1]
      at = "/l"
      columns.a = ""
      => 6: resource.thing.lists.cache_old_0_1: "cache_old_0_1" is a name that rosterd keeps for tables of a definition that changed; allowed: a plain identifier that no other table has, in any case
      [resource.thing.lists."a b"]
      at = "/l"
      columns.a = ""
      => 6: resource.thing.lists."a b": "a b" is no plain identifier; allowed: a plain identifier that no other table has, in any case
      [resource.thing.lists]
      x = 1

      => 7: resource.thing.lists.x: 1 is an integer, not a table; allowed: [resource.thing.lists.x]
      [resource.thing.lists.tags]
      columns.a = ""

      => 6: resource.thing.lists.tags.at: is missing; allowed: a JSON Pointer to a list of its own
      [resource.thing.lists.tags]
      at = "/tags"

      => 6: resource.thing.lists.tags.columns: there are no columns; allowed: one column at least
      [resource.thing.lists.tags]
      at = "tags"
      columns.a = ""

      => 7: resource.thing.lists.tags.at: "tags" is no JSON Pointer; allowed: a JSON Pointer such as "/user/name", of at most 100 names
      [resource.thing.lists.tags]
      at = "/tags"
      columns.a = ""
      where = {}

      => 9: resource.thing.lists.tags.where: is unknown; allowed: at, list_of_one, columns
      [resource.thing.lists.tags]
      at = "/tags"
      columns.a = ""
      where = ""

      => 9: resource.thing.lists.tags.where: is unknown; allowed: at, list_of_one, columns
      [resource.thing.lists.tags]
      at = "/tags"
      columns.a = ""
      [resource.thing.lists.other]
      at = "/tags"
      columns.a = ""

      => 10: resource.thing.lists.other.at: tags is at "/tags" too; allowed: a JSON Pointer to a list of its own
      [resource.thing.lists.name]
      at = "/tags"
      columns.a = ""

      => 6: resource.thing.lists.name: a column or list is called name in changes already; allowed: a name of its own, also without the resource's name at its begin
      [resource.thing.lists.tags]
      at = "/tags"
      columns.a = ""
      [resource.thing.lists.thing_tags]
      at = "/t"
      columns.a = ""

      => 9: resource.thing.lists.thing_tags: a column or list is called tags in changes already; allowed: a name of its own, also without the resource's name at its begin
      """#))
  func lists(text: String, sentence: String) throws {
    try workspace.expect(sentence, text: FaultyDefinition.start + FaultyDefinition.columns + text)
  }
}
