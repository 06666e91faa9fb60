internal import RosterCore

/// The key of a record in a document of `changes`, as SQL. The key of a detail is that of its parent, which is
/// in the parent's table, or in the change that removed the parent.
struct DocumentKey {
  /// A bare value; the JSON list of the parts if the key is composite.
  let value: String
  private let isComposite: Bool

  /// - Parameters:
  ///   - document: the document, as SQL. Its columns have the name of their table, since a subquery uses them.
  ///   - all: all resources.
  ///   - schema: The schema of the tables with a dot; empty in a view, which only looks into its own schema.
  init(
    of tables: ResourceTables, inDocument document: String, among all: [ResourceTables], schema: String = "main."
  ) {
    let holder = tables.keyHolder(among: all)
    isComposite = holder.resource.hasCompositeKey
    value =
      tables.resource.isDetail
      ? holder.key(ofRecord: tables.parent(inDocument: document), schema: schema) : tables.key(inDocument: document)
  }

  var json: String { isComposite ? value : "json_quote(\(value))" }
}

extension ResourceTables {
  /// A condition that is true if the removed record of the row `c` of `changes` is there again. A record gets another
  /// id then, unless the id is the key, and so do the records below it.
  func isThereAgain(among all: [ResourceTables]) -> String {
    if resource.isDetail {
      return "EXISTS (SELECT 1 FROM \(table) t WHERE t.\(id) IN (\(currentIDs(ofRecord: "c.record_id", among: all))))"
    }
    let isThere =
      "t.\(id) = c.record_id" + (hasOwnIDs ? " OR (\(hasKey("t", ofDocument: "c.before", among: all)))" : "")
    return "EXISTS (SELECT 1 FROM \(table) t WHERE \(isThere))"
  }

  /// The ids that the record with the key of a record has now, as a query or a value. One of them is its old id.
  private func currentIDs(ofRecord record: String, among all: [ResourceTables]) -> String {
    if resource.isDetail, let above = parentTables(among: all) {
      return above.currentIDs(ofRecord: record, among: all)
    }
    guard hasOwnIDs else { return record }
    // The names differ from those of the queries around and inside this one.
    let (change, row) = ("g_\(resource.name)", "o_\(resource.name)")
    return """
      SELECT \(record) UNION ALL SELECT \(row).\(id) FROM changes \(change)
      CROSS JOIN \(table) \(row) ON \(hasKey(row, ofDocument: "\(change).before", among: all))
      WHERE \(isRemoval(change, ofRecord: record))
      """
  }

  /// A condition that is true if the row `row` has the key of a document of `changes`, below the same parent.
  private func hasKey(_ row: String, ofDocument document: String, among all: [ResourceTables]) -> String {
    guard let column = parentColumn, let above = parentTables(among: all) else {
      return hasKey(row, inDocument: document)
    }
    let ids = above.currentIDs(ofRecord: parent(inDocument: document), among: all)
    return "\(row).\(column) IN (\(ids)) AND \(hasKey(row, inDocument: document))"
  }

  private func parentTables(among all: [ResourceTables]) -> ResourceTables? {
    all.first { $0.resource.name == parent }
  }

  /// The resource whose key counts: for a detail, the nearest ancestor with an own key. A detail has the record id
  /// of its parent.
  fileprivate func keyHolder(among all: [ResourceTables]) -> ResourceTables {
    guard resource.isDetail, let above = parentTables(among: all) else { return self }
    return above.keyHolder(among: all)
  }

  /// The key of a record that is there or was removed.
  fileprivate func key(ofRecord record: String, schema: String) -> String {
    guard hasOwnIDs else { return record }
    return """
      coalesce((SELECT \(key(of: "k")) FROM \(schema)\(table) k WHERE k.\(id) = \(record)),
        (SELECT \(key(inDocument: "g.before")) FROM \(schema)changes g WHERE \(isRemoval("g", ofRecord: record)) LIMIT 1))
      """
  }

  private func isRemoval(_ change: String, ofRecord record: String) -> String {
    """
    \(change).resource = \(literal(resource.name)) AND \(change).record_id = \(record) AND \(change).kind = 'removed'
    AND json_valid(\(change).before)
    """
  }
}
