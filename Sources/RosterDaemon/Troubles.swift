import RosterCache
import RosterModel
import Synchronization

/// Remembers since when syncs have had the same failure, across restarts.
final class Troubles: Sendable {
  private let file: TroubleFile
  private let latest: Mutex<Diagnosis?>

  /// - Parameter last: The failure of the last conclusive sync.
  init(beside cache: String, last: Diagnosis?) {
    file = TroubleFile(beside: cache)
    latest = Mutex(last)
  }

  /// The failure of the last sync that was not cancelled or interrupted; nil if that sync succeeded.
  var last: Diagnosis? { latest.withLock { $0 } }

  /// Returns the record with the start of its failure, and stores the failure for the next process.
  func noted(_ record: SyncRecord) -> SyncRecord {
    guard record.outcome.isConclusive else { return record }
    var record = record
    var trouble = record.diagnosis
    let isNews = latest.withLock { latest in
      let isSame = latest?.kind.family == trouble?.kind.family
      trouble?.since = isSame ? latest?.since ?? record.finishedAt : record.finishedAt
      defer { latest = trouble }
      return latest != nil || trouble != nil
    }
    record.trouble = trouble
    if isNews { file.write(record) }
    return record
  }
}
