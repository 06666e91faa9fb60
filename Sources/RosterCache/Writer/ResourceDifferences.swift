internal import RosterDecode
internal import RosterModel

/// The differences that publishing one resource would make. It uses the publication's own comparison, and writes
/// nothing.
struct ResourceDifferences {
  private(set) var added = 0
  private(set) var changed = 0
  private(set) var removed = 0
  /// Records that this pull misses for the first time, and that are kept. They are counted only with a table.
  private(set) var absent = 0

  private let data: PullData
  private let plan: RecordPlan
  private let scope: ListScope
  private let found: ResourceComparison
  /// nil if the resource has no snapshot, so that every record is new.
  private let stored: StoredRecords?
  /// Rejected records in answers.
  private var rejected = 0

  init(_ data: PullData, scope: ListScope, found: ResourceComparison) throws {
    (self.data, self.scope, self.found, plan) = (data, scope, found, data.plans[scope.index])
    stored =
      try data.database.hasSnapshot(of: plan.resource.name)
      ? StoredRecords(data.database, data.tables[scope.index]) : nil
  }

  /// Number of records in the snapshot, by resource.
  static func snapshot(_ database: Database) throws -> [String: Int] {
    let counts = try database.rows("SELECT name, records FROM main.resources") { ($0.text(0), $0.int(1)) }
    return Dictionary(uniqueKeysWithValues: counts)
  }

  /// - Parameters:
  ///   - removal: The decision about missing records; nil for a partial pull, which has no missing records.
  ///   - table: The table for each difference; nil only counts them.
  mutating func find(_ removal: RemovalDecision.Removal?, table: DifferenceTable?) throws {
    for part in found.isAsked ? [PulledRecords.Part.answers] : [.pages, .answers] {
      guard var pulled = try PulledRecords(part, of: scope, found, in: data) else { continue }
      while try pulled.nextPage() != nil {
        while let step = try pulled.next() {
          switch step {
          case .record: try take(&pulled.decoder, table: table)
          case .rejected: if part == .answers { rejected += 1 }
          }
        }
      }
    }
    guard let decision = removal.map({ RemovalDecision($0) }) else { return }
    for id in try ids(decision.removalQuery(for: plan, comparison: found)) {
      removed += 1
      try table?.removed(id)
    }
    guard let table else { return }
    for id in try ids(decision.firstMissedQuery(for: plan, comparison: found)) {
      absent += 1
      try table.absent(id)
    }
  }

  private func ids(_ query: String?) throws -> [Int64] {
    try query.map { try data.database.rows($0, in: scope, read: { $0.integer(0) }) } ?? []
  }

  private mutating func take(_ decoder: inout RecordDecoder, table: DifferenceTable?) throws {
    switch try stored?.standing(of: &decoder, below: scope.parent) ?? .new {
    case .same: break
    case .new:
      added += 1
      try table?.added(&decoder)
    case .changed(let difference):
      changed += 1
      try table?.changed(&decoder, by: difference)
    }
  }

  /// Adds the counts of this resource to the sync's row.
  func sum(into record: inout SyncRecord) {
    record.pages += found.pages
    record.records += added - removed
    record.added += added
    record.changed += changed
    record.removed += removed
    record.rejected += found.rejected + rejected
    record.skipped += found.skipped
  }
}

extension RemovalDecision {
  /// The query for the ids of records of a list to remove (P8). nil if no record is removed.
  func removalQuery(for plan: RecordPlan, comparison found: ResourceComparison) -> String? {
    let removal = plan.resource.removal
    let missing = KeyTables(isText: plan.hasTextKeys).missing
    if found.isIncremental {
      // The rejected record may be a later version of any of them (P9.10).
      if found.rejectedUnknown > 0 { return nil }
      guard found.missing + found.asked + found.doubted > 0 else { return nil }
      return """
        SELECT record_id FROM \(missing)
        WHERE resource = ?1 AND list = ?2 AND record_id > \(KeyTables.lastPlaceholder)
          AND \(isRemoved(comparison: found)) ORDER BY record_id
        """
    }
    guard self.removal != .keepsAll, removal != .never, found.missing > 0 else { return nil }
    let isRemoved =
      switch removal {
      case .ask where self.removal == .notFound: KeyTables.isNotFound
      case .twice where !found.listChanged: "NOT answered AND absent > 0"
      case .ask, .twice, .never: "NOT \(KeyTables.isFound)"
      }
    return "SELECT record_id FROM \(missing) WHERE resource = ?1 AND list = ?2 AND \(isRemoved) ORDER BY record_id"
  }

  /// A condition for rows of `missing` after an incremental pull: the record is removed. Either `where` skips it now
  /// (I5.2), or `by_key` did not find it.
  func isRemoved(comparison found: ResourceComparison) -> String {
    let isSkipped = found.isAsked ? "false" : "NOT answered AND absent <> \(VanishedLists.doubted)"
    let isMissing =
      switch removal {
      case .keepsAll: "false"
      case .asDefined: found.isAsked ? "NOT \(KeyTables.isFound)" : KeyTables.isNotFound
      case .notFound: KeyTables.isNotFound
      }
    return "(\(isSkipped) OR \(isMissing))"
  }

  /// Query for the ids of records that this pull misses for the first time and that stay (P8). nil if the definition
  /// keeps no such record.
  func firstMissedQuery(for plan: RecordPlan, comparison found: ResourceComparison) -> String? {
    guard removal != .keepsAll, found.missing > 0, !found.isIncremental else { return nil }
    switch plan.resource.removal {
    case .ask: return nil
    case .twice where found.listChanged: return nil
    case .twice, .never:
      let missing = KeyTables(isText: plan.hasTextKeys).missing
      return """
        SELECT record_id FROM \(missing) WHERE resource = ?1 AND list = ?2 AND NOT answered AND absent = 0
        ORDER BY record_id
        """
    }
  }
}
