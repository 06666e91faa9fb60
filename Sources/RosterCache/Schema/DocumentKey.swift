internal import RosterModel

/// The key of a record in a document of `changes`, as SQL. The key of a detail is that of its parent (L2.3), which is
/// in the parent's table, or in the change that removed the parent.
struct DocumentKey {
  /// A bare value; the JSON list of the parts if the key is composite.
  let value: String
  private let isComposite: Bool

  /// - Parameters:
  ///   - document: the document, as SQL. Its columns have the name of their table, since a subquery uses them.
  ///   - all: all resources.
  init(of tables: ResourceTables, inDocument document: String, among all: [ResourceTables]) {
    let holder = tables.keyHolder(among: all)
    isComposite = holder.resource.hasCompositeKey
    value =
      tables.resource.isDetail
      ? holder.key(ofRecord: tables.parent(inDocument: document)) : tables.key(inDocument: document)
  }

  /// The key as JSON.
  var json: String { isComposite ? value : "json_quote(\(value))" }
}

extension ResourceTables {
  /// A condition that is true if the removed record of the row `c` of `changes` is there again. A record gets another
  /// id then, unless the id is the key.
  func isThereAgain(among all: [ResourceTables]) -> String {
    let byID = "t.\(id) = c.record_id"
    if hasOwnIDs {
      return "EXISTS (SELECT 1 FROM \(table) t WHERE \(byID) OR (\(hasKey("t", inDocument: "c.before"))))"
    }
    let isThere = "EXISTS (SELECT 1 FROM \(table) t WHERE \(byID))"
    let holder = keyHolder(among: all)
    guard holder !== self, holder.hasOwnIDs else { return isThere }
    return """
      (\(isThere) OR EXISTS (SELECT 1 FROM changes g
        CROSS JOIN \(holder.table) o ON \(holder.hasKey("o", inDocument: "g.before"))
        CROSS JOIN \(table) t ON t.\(id) = o.\(holder.id)
        WHERE \(holder.isRemoval("g", ofRecord: "c.record_id"))))
      """
  }

  /// The resource whose key counts: for a detail, the nearest ancestor with an own key. A detail has the record id
  /// of its parent.
  fileprivate func keyHolder(among all: [ResourceTables]) -> ResourceTables {
    guard resource.isDetail, let above = all.first(where: { $0.resource.name == parent }) else { return self }
    return above.keyHolder(among: all)
  }

  /// The key of a record that is there or was removed.
  fileprivate func key(ofRecord record: String) -> String {
    guard hasOwnIDs else { return record }
    return """
      coalesce((SELECT \(key(of: "k")) FROM \(table) k WHERE k.\(id) = \(record)),
        (SELECT \(key(inDocument: "g.before")) FROM changes g WHERE \(isRemoval("g", ofRecord: record)) LIMIT 1))
      """
  }

  private func isRemoval(_ change: String, ofRecord record: String) -> String {
    """
    \(change).resource = \(literal(resource.name)) AND \(change).record_id = \(record) AND \(change).kind = 'removed'
    AND json_valid(\(change).before)
    """
  }
}
