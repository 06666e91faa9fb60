/// Names that rosterd's own tables and columns have (section 5 of docs/CONTRACT.md): no definition can give them.
package enum ReservedNames {
  /// Tables of every cache, private ones and indexes among them.
  package static let tables: Set<String> = [
    "resources", "syncs", "syncs_by_outcome", "sync_resources", "changes", "changes_by_record", "rejects", "removed",
    "cache_info", "cache_identity", "cache_resources", "cache_pages", "cache_pages_rejecting", "cache_unlisted",
    "cache_record_ids",
  ]

  /// What the names of tables begin with while a definition that changed is written anew; in lower case.
  package static let setAside = "cache_old_"

  /// Columns of a resource's table.
  package static let columns = ["record_id", "extra", "first_sync", "changed_sync"]

  /// Columns of a list's table.
  package static func listColumns(of resource: String) -> [String] { ["\(resource)_id", "position", "extra"] }

  /// Tables that an index of words is made of (sqlite.org/fts5.html).
  package static func wordTables(of table: String) -> [String] {
    ["", "_data", "_idx", "_content", "_docsize", "_config"].map { "\(table)_fts\($0)" }
  }
}
