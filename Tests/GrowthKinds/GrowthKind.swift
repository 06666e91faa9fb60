package import RosterCore

/// A kind of sync whose cost is measured at two sizes, with the states of upstream before and during it.
package enum GrowthKind: String, CaseIterable, Sendable {
  case first
  case unchanged
  case changed = "all changed"
  case insertedAtFront = "one inserted at the front"
  case reversed
  case shuffled
  case halfRemovedAsk = "half removed (ask)"
  case halfRemovedTwice = "half removed (twice)"
  case halfRemovedNever = "half removed (never)"
  case halfPresent = "half absent but present by key"
  case replaced = "all replaced"
  case doubled
  case redefined = "another definition"
  case dryRun = "dry run"
  case manyRows = "60 list rows per record, all changed"
  case rejected = "half rejected"

  /// The records that the pages list before the sync. Empty for a first sync.
  package func before(_ count: Int) -> [GrowthRecord] {
    self == .first ? [] : (1...count).map { GrowthRecord(number: $0, rows: rows) }
  }

  /// The records that the pages list at the sync.
  package func after(_ count: Int) -> [GrowthRecord] {
    let all = (1...count).map { GrowthRecord(number: $0, rows: rows) }
    return switch self {
    case .first, .unchanged: all
    case .changed, .redefined, .dryRun, .manyRows: all.map { GrowthRecord(number: $0.number, mark: "!", rows: rows) }
    case .insertedAtFront: [GrowthRecord(number: count + 1)] + all
    case .reversed: all.reversed()
    case .shuffled: all.sorted { $0.scattered < $1.scattered }
    case .halfRemovedAsk, .halfRemovedTwice, .halfRemovedNever, .halfPresent: all.filter { $0.number % 2 == 0 }
    case .replaced: all.map { GrowthRecord(number: $0.number + count) }
    case .doubled: all + all.map { GrowthRecord(number: $0.number + count) }
    case .rejected: all.map { GrowthRecord(number: $0.number, isRejected: $0.number % 2 == 0) }
    }
  }

  /// The records that upstream returns by key although no page lists them.
  package func present(_ count: Int) -> [GrowthRecord] {
    self == .halfPresent ? (1...count).filter { $0 % 2 == 1 }.map { GrowthRecord(number: $0, rows: rows) } : []
  }

  /// - Parameter isAfter: false for the state before the sync.
  package func resource(isText: Bool, isAfter: Bool) -> Resource {
    let removal: Resource.Removal =
      switch self {
      case .halfRemovedTwice: .twice
      case .halfRemovedNever: .never
      default: .ask
      }
    let more = isAfter && self == .redefined ? [Resource.Column("note", at: .init(segments: ["note"]), .json)] : []
    return Resource(
      name: "thing", path: "/things", records: JSONPointer(segments: ["results"]),
      key: JSONPointer(segments: [isText ? "code" : "id"]), table: "things", search: ["name"],
      byKey: removal == .ask ? "/things/{keys}" : nil, removal: removal, maxRemoval: 100,
      pages: .init(
        .number(last: .body(JSONPointer(segments: ["info", "pages"]))),
        count: .body(JSONPointer(segments: ["info", "count"]))),
      columns: [
        .init("id", at: JSONPointer(segments: ["id"]), .integer), .init("code", at: JSONPointer(segments: ["code"])),
        .init("name", at: JSONPointer(segments: ["name"])),
      ] + more,
      lists: [
        .init(table: "thing_tags", at: JSONPointer(segments: ["tags"]), columns: [.init("tag", at: JSONPointer())])
      ])
  }

  /// The outcome of the sync.
  package var outcome: SyncRecord.Outcome {
    switch self {
    // With `twice`, the first complete pull that misses a record removes nothing.
    case .unchanged, .reversed, .shuffled, .halfRemovedTwice, .halfRemovedNever, .halfPresent: .unchanged
    case .dryRun: .tried
    default: .published
    }
  }

  private var rows: Int { self == .manyRows ? 60 : 2 }
}

/// A record of a `GrowthKind`.
package struct GrowthRecord: Sendable {
  /// Its key, as an integer.
  package var number: Int
  /// A part of its name; a record with another mark counts as changed.
  package var mark = ""
  /// Number of its list rows.
  package var rows = 2
  /// True if a value has the wrong type, so that the record cannot be stored.
  package var isRejected = false

  /// Its key, as a text.
  package var code: String { "thing-\(number)" }

  /// The record as on a page.
  package var json: String {
    let tags = (0..<rows).map { "\"tag \($0)\(mark)\"" }.joined(separator: ",")
    let name = isRejected ? "\(number)" : "\"Name \(number)\(mark)\""
    return """
      {"id":\(number),"code":"\(code)","name":\(name),"tags":[\(tags)],"note":"more of \(number)"}
      """
  }

  /// A number that puts records into a random order.
  fileprivate var scattered: UInt64 {
    let mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    return mixed ^ mixed >> 29
  }
}
