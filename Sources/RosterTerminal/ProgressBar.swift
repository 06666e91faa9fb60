package import RosterModel

/// The progress of a sync on one line. A terminal redraws it after a carriage return.
package struct ProgressBar: Sendable, Equatable {
  /// Number of pages done.
  package var done: Int
  /// Total number of pages; 0 while it is unknown.
  package var total: Int
  /// Further counts such as `340 records`, the most important first.
  package var counts: [String]
  /// False if the number of pages is shown elsewhere on the line.
  var showsPages = true

  /// `total` is 0 while it is unknown. `counts` are shown as far as there is room, the first ones first.
  package init(done: Int, total: Int, counts: [String] = []) {
    self.done = done
    self.total = total
    self.counts = counts
  }

  /// The progress of a running sync.
  package init(_ current: DaemonStatus.Current) {
    var counts = [current.records.counted(as: "record")]
    if current.phase == .verifying || current.phase == .publishing { counts.insert(current.phase.rawValue, at: 0) }
    if current.refreshes > 0 { counts.append("token " + current.refreshes.counted(as: "refresh")) }
    if current.retries > 0 { counts.append(current.retries.counted(as: "retry")) }
    if current.inFlight > 0 { counts.append("\(current.inFlight) in flight") }
    self.init(done: current.pagesDone, total: current.pagesTotal ?? 0, counts: counts)
  }

  /// The line of at most `width` cells, without a line end: `━━━━━━━╸────────  17/42 pages  340 records`.
  package func text(width: Int, colour: Bool = false) -> String {
    let pages = total > 0 ? "\(done)/\(total) pages" : done > 0 ? done.counted(as: "page") : "asking for page 1"
    var tail = showsPages ? "  " + pages : ""
    for count in counts where done > 0 {
      let longer = tail + "  " + count
      if longer.count + Self.minBar > width { break }
      tail = longer
    }
    let room = min(Self.widestBar, width - tail.count)
    guard room >= Self.minBar else { return String(pages.prefix(width)) }
    return bar(room, colour: colour) + tail
  }

  /// The bar without text.
  func bar(_ width: Int, colour: Bool = false) -> String {
    let share = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 0
    let halves = Int(share * Double(width * 2))
    let filled = String(repeating: "━", count: halves / 2) + (halves % 2 == 1 ? "╸" : "")
    let rest = String(repeating: "─", count: width - (halves + 1) / 2)
    return filled.toned(.good, colour: colour) + rest.toned(.faint, colour: colour)
  }

  /// A shorter bar shows nothing useful, and a longer one shows nothing more.
  private static let minBar = 10
  private static let widestBar = 40
}
