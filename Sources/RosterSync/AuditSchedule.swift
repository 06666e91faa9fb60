import FoundationEssentials
import RosterCore

/// Decides which pages a sync transfers without their validators, so that lying validators are found. Each page
/// has a moment of its own in each period, by a digest of its address. Pure.
struct AuditSchedule: Sendable, Equatable {
  /// Period in which each page is audited; nil if never.
  var period: Duration?
  /// Time of the last whole pull of the list; nil if it is unknown, so that nothing is due.
  var last: Date?
  /// Start of the sync.
  var now: Date

  /// True if the moment of this page came after the last whole pull.
  /// - Parameter address: That of `PageRequest`, which has the body of a POST.
  func isDue(_ address: String, digest: PageDigest) -> Bool {
    guard let period, let last, period > .zero else { return false }
    let phase = Double(UInt64(bitPattern: digest(Array(address.utf8))) >> 11) / 0x1p53
    func moments(until date: Date) -> Double { (date.timeIntervalSince1970 / period.seconds + phase).rounded(.down) }
    return moments(until: now) > moments(until: last)
  }
}
