/// Names of rosterd's own tables and columns, which no definition may use (docs/CACHE.md).
package enum ReservedNames {
  /// Tables of every cache, including private ones and indexes.
  package static let tables: Set<String> = [
    "resources", "syncs", "syncs_by_outcome", "sync_resources", "changes", "changes_by_record", "rejects",
    "rejects_by_document", "removed", "cache_info", "cache_identity", "cache_resources", "cache_pages",
    "cache_pages_rejecting", "cache_unlisted", "cache_record_ids", "cache_lists", "cache_lists_due",
    "cache_lists_failed", "cache_lists_whole", "cache_lists_missed", "cache_overlaid", "resource_lists",
    "cache_changes",
  ]

  /// Prefix of table names, in lower case, while the tables of a changed definition are rebuilt.
  package static let setAside = "cache_old_"

  /// Columns of a resource's table.
  package static let columns = ["record_id", "extra", "first_sync", "changed_sync"]

  /// Columns of a list's table.
  package static func listColumns(of resource: String) -> [String] { ["\(resource)_id", "position", "extra"] }

  /// The tables of a full-text index (sqlite.org/fts5.html).
  package static func wordTables(of table: String) -> [String] {
    ["", "_data", "_idx", "_content", "_docsize", "_config"].map { "\(table)_fts\($0)" }
  }
}
