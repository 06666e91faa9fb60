package import FoundationEssentials
package import RosterCache
import RosterModel

/// Decides which pages of a resource a sync transfers without their validators, so that lying validators are found
/// (P15). Pure: it only needs the times of syncs, which the cache stores anyway.
///
/// The pages, in the order of their addresses, are divided into slots of at most 1 percent. A slot becomes due whenever
/// the period divided by the number of slots has passed, and a sync audits one slot at most. A sync that is late
/// audits the slot that follows the last audited one, and the next syncs catch up. If syncs are so rare that they never
/// catch up, each audits a slot, by its id in rotation.
package struct AuditSchedule: Sendable, Equatable {
  /// Period in which each page is audited; nil if never.
  package var period: Duration?
  /// Id of the sync.
  package var sync: Int64
  /// Start of the sync.
  package var now: Date
  /// The syncs before this one.
  package var history: AuditHistory

  /// The places of the pages that are due, in the order of their addresses; nil if none is due.
  /// - Parameter pages: Number of the resource's pages.
  package func places(pages: Int) -> Range<Int>? {
    guard let period, period > .zero, pages > 0, !history.verified.isEmpty else { return nil }
    let share = max(1, pages / 100)
    let slots = (pages + share - 1) / share
    let step = period.seconds / Double(slots)
    // The positions of earlier syncs: each sync audits the next slot, unless that slot is not due yet.
    let turns = history.verified.enumerated().map { turn(at: $1, step) + Int64($0) }
    guard let last = turns.min(), turn(at: now, step) > last else { return nil }
    let window = AuditHistory.limit
    let isFarBehind = turns.count == window && turns.prefix(window / 2).allSatisfy { $0 > last }
    let next = isFarBehind ? sync : last + 1
    let slot = Int(next % Int64(slots))
    return slot * share..<min(pages, (slot + 1) * share)
  }

  /// Number of slots that have become due since the first sync, which transferred all pages.
  private func turn(at date: Date, _ step: Double) -> Int64 {
    let origin = history.first ?? Date(timeIntervalSince1970: 0)
    return Int64((max(0, date.timeIntervalSince(origin)) / step).rounded(.down))
  }
}
