import FoundationEssentials
import RosterModel

/// Decides which pages a sync transfers without their validators, so that lying validators are found (P15). Each page
/// has a moment of its own in each period, by a hash of its address. Pure.
struct AuditSchedule: Sendable, Equatable {
  /// Period in which each page is audited; nil if never.
  var period: Duration?
  /// Time of the last whole pull of the list; nil if it is unknown, so that nothing is due.
  var last: Date?
  /// Start of the sync.
  var now: Date

  /// True if the moment of this page came after the last whole pull.
  func isDue(_ address: String) -> Bool {
    guard let period, let last, period > .zero else { return false }
    let phase = Double(Self.hash(address) >> 11) / 0x1p53
    func moments(until date: Date) -> Double { (date.timeIntervalSince1970 / period.seconds + phase).rounded(.down) }
    return moments(until: now) > moments(until: last)
  }

  /// FNV-1a, with the last step of MurmurHash3, because addresses often differ at their end only. Unlike `Hasher`, it
  /// is the same in each process.
  private static func hash(_ address: String) -> UInt64 {
    var hash = address.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53] as [UInt64] { hash = (hash ^ hash >> 33) &* factor }
    return hash ^ hash >> 33
  }
}
