internal import FoundationEssentials
internal import RosterFiles
package import RosterModel

/// `<path>.trouble`: what was the matter with the last sync, where something was, for who explains it after a restart
/// or without a daemon. The row in `syncs` has it as a sentence; what is lost with this file are the things to look at.
package struct TroubleFile: Sendable {
  private struct Stored: Codable {
    var sync: Int64
    var startedAt: String
    var trouble: Trouble
  }

  private let file: WholeFile

  /// Of the cache at `path`.
  package init(beside path: String) { file = WholeFile(path + ".trouble", mode: CacheFile.privateMode) }

  /// Replaces it, or removes it where nothing was the matter. A disk that is full or read-only keeps the old one, which
  /// is known by its sync.
  package func write(_ record: SyncRecord) {
    guard let trouble = record.trouble else {
      file.remove()
      return
    }
    let stored = Stored(sync: record.id, startedAt: record.startedAt, trouble: trouble)
    // It is not worth a flush: the next sync writes it again.
    if let bytes = try? JSONEncoder().encode(stored) { try? file.replace(with: Array(bytes), durably: false) }
  }

  /// nil if there is no such sync, the file is of another sync, or this user cannot read it.
  func trouble(of record: SyncRecord?) -> Trouble? {
    guard let record, let bytes = try? contents(of: file.path, limit: Self.mostBytes),
      let stored = try? JSONDecoder().decode(Stored.self, from: Data(bytes)), stored.sync == record.id,
      stored.startedAt == record.startedAt
    else { return nil }
    return stored.trouble
  }

  /// Far above what ten records and a sentence take.
  private static let mostBytes = 1 << 20
}

extension Cache {
  /// What was the matter with the last sync that came to an end of its own; nil: nothing, or there was none.
  package func lastTrouble() throws -> Trouble? {
    try perform("read the cache") { database in
      let last = try database.first(
        "\(SyncRow.select) WHERE outcome IN (\(Database.tellingOutcomes)) ORDER BY id DESC LIMIT 1", read: SyncRow.read)
      return try database.trouble(of: last, TroubleFile(beside: path))
    }
  }
}

extension Database {
  /// Of syncs that tell whether all is well; one that was cancelled or killed tells nothing.
  fileprivate static let tellingOutcomes = "'published', 'unchanged', 'tried', 'failed'"

  /// What was the matter with a sync, as its file or else its row tells; nil: nothing.
  func trouble(of record: SyncRecord?, _ file: TroubleFile) throws -> Trouble? {
    if let stored = file.trouble(of: record) { return stored }
    guard let record, var trouble = Trouble(row: record) else { return nil }
    // As far as exit codes tell one sort of trouble from another.
    trouble.since =
      try first(
        """
        SELECT finished_at FROM syncs WHERE outcome IN (\(Self.tellingOutcomes)) AND id > coalesce((
          SELECT max(id) FROM syncs WHERE outcome IN (\(Self.tellingOutcomes)) AND id < ?1
            AND NOT (exit = ?2 AND (exit <> 0 OR rejected > 0 OR error IS NOT NULL))), 0)
        ORDER BY id LIMIT 1
        """, Value(record.id), Value(record.exit.map(Int64.init))
      ) { $0.optionalText(0) } ?? trouble.since
    return trouble
  }
}
