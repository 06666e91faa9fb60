/// Names that rosterd's own tables and columns have (section 5 of docs/CONTRACT.md), or SQLite's for a row's id.
enum Reserved {
  private static let rows: Set<String> = ["rowid", "oid", "extra"]
  static let columns: Set<String> = rows.union(["record_id", "first_sync", "changed_sync"])

  static func listColumns(of resource: String) -> Set<String> {
    rows.union(["\(resource)_id", "position"])
  }

  static let tables: Set<String> = [
    "resources", "syncs", "sync_resources", "changes", "rejects", "removed", "cache_info", "cache_identity",
    "cache_resources", "cache_pages", "cache_unlisted", "cache_record_ids", "syncs_by_outcome", "changes_by_record",
    "cache_pages_rejecting",
  ]
}
