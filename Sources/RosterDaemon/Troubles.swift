import RosterCache
import RosterModel
import Synchronization

/// Since when syncs have had the same trouble, over restarts.
final class Troubles: Sendable {
  private let file: TroubleFile
  private let latest: Mutex<Trouble?>

  /// - Parameter last: of the last sync that told whether all is well.
  init(beside cache: String, last: Trouble?) {
    file = TroubleFile(beside: cache)
    latest = Mutex(last)
  }

  /// Of the last sync that told whether all is well; nil: it was.
  var last: Trouble? { latest.withLock { $0 } }

  /// The same record, which says since when; keeps that for the next process.
  func noted(_ record: SyncRecord) -> SyncRecord {
    // They tell nothing of upstream, nor of this machine.
    if [.cancelled, .interrupted].contains(record.outcome) { return record }
    var record = record
    var trouble = record.trouble ?? Trouble(row: record)
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
