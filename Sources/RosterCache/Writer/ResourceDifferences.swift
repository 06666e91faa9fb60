internal import RosterCore
internal import RosterDecode

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
  /// nil unless windows may share records.
  private let owners: WindowOwners?
  /// Rejected records in answers.
  private var rejected = 0

  init(_ data: PullData, scope: ListScope, found: ResourceComparison, owners: WindowOwners?) throws {
    (self.data, self.scope, self.found, self.owners) = (data, scope, found, owners)
    plan = data.plans[scope.index]
    let isStored = try data.database.hasSnapshot(of: plan.resource.name)
    stored = isStored ? try StoredRecords(data.database, data.tables[scope.index]) : nil
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
    for id in try ids(decision.removalQuery(for: plan, comparison: found)) where owners?.isGone(id) != true {
      owners?.note(gone: id)
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
    if let owner = try owners?.owner(besides: scope.parent, key: decoder.key) {
      switch owner {
      case .later: return
      case .earlier(let id, _):
        owners?.note(gone: id)
        removed += 1
        try table?.removed(id)
      }
    }
    switch try stored?.standing(of: &decoder, below: scope.parent) ?? .new {
    case .same: break
    case .new:
      if try owners?.claims(decoder.key) == false { return }
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
