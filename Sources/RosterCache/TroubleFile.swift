internal import FoundationEssentials
package import RosterCore

/// `<path>.trouble`: the trouble of the last sync, if it had any, so that it can be explained after a restart or
/// without a daemon. The row in `syncs` has one sentence about it. Without this file, the affected items are lost.
package struct TroubleFile: Sendable {
  private struct Stored: Codable {
    var sync: Int64
    var startedAt: String
    var trouble: Diagnosis
  }

  private let file: WholeFile

  /// The file beside the cache at `path`.
  package init(beside path: String) { file = WholeFile(path + ".trouble", mode: CacheFile.privateMode) }

  /// Replaces the file, or removes it if the sync had no trouble. If the disk is full or read-only, the old file
  /// remains; it names its sync.
  package func write(_ record: SyncRecord) {
    guard let trouble = record.trouble else {
      file.remove()
      return
    }
    let stored = Stored(sync: record.id, startedAt: record.startedAt, trouble: trouble)
    // A flush is not worthwhile: the next sync writes the file again.
    if let bytes = try? JSONEncoder().encode(stored) { try? file.replace(with: Array(bytes), durably: false) }
  }

  /// nil if there is no such sync, the file is of another sync, or this user cannot read it.
  func trouble(of record: SyncRecord?) -> Diagnosis? {
    guard let record, let bytes = try? contents(of: file.path, limit: Self.maxBytes),
      let stored = try? JSONDecoder().decode(Stored.self, from: Data(bytes)), stored.sync == record.id,
      stored.startedAt == record.startedAt
    else { return nil }
    return stored.trouble
  }

  /// Limit in bytes, far above the size of ten records and a sentence.
  private static let maxBytes = 1 << 20
}

extension Cache {
  /// The trouble of the last sync that was not cancelled or killed; nil if it had no trouble or there was no such sync.
  package func lastTrouble() throws -> Diagnosis? {
    try perform("read the cache") { database in
      try database.trouble(of: try database.lastConclusive(), TroubleFile(beside: path))
    }
  }
}

extension Database {
  /// `Outcome.isConclusive` in SQL.
  private static let conclusiveOutcomes = "'published', 'unchanged', 'tried', 'failed'"

  /// The last sync that was neither cancelled nor killed; nil without such a sync.
  func lastConclusive() throws -> SyncRecord? {
    try first(
      "\(SyncRow.select) WHERE outcome IN (\(Self.conclusiveOutcomes)) ORDER BY id DESC LIMIT 1", read: SyncRow.read)
  }

  /// The trouble of a sync, from its file or else from its row; nil if it had no trouble.
  func trouble(of record: SyncRecord?, _ file: TroubleFile) throws -> Diagnosis? {
    if let stored = file.trouble(of: record) { return stored }
    guard let record, var trouble = Diagnosis(row: record) else { return nil }
    // Two troubles with the same exit code cannot be distinguished here.
    trouble.since =
      try first(
        """
        SELECT finished_at FROM main.syncs WHERE outcome IN (\(Self.conclusiveOutcomes)) AND id > coalesce((
          SELECT max(id) FROM main.syncs WHERE outcome IN (\(Self.conclusiveOutcomes)) AND id < ?1
            AND NOT (exit = ?2 AND (exit <> 0 OR rejected > 0 OR error IS NOT NULL))), 0)
        ORDER BY id LIMIT 1
        """, Value(record.id), Value(record.exit.map(Int64.init))
      ) { $0.optionalText(0) } ?? trouble.since
    return trouble
  }
}
