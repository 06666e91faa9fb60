package import RosterCore

/// The progress of a sync on one line. A terminal redraws it after a carriage return.
package struct ProgressBar: Sendable, Equatable {
  /// Number of pages or lists done.
  package var done: Int
  /// Total number of pages or lists; 0 while it is unknown.
  package var total: Int
  /// Further counts such as `340 records`, the most important first.
  package var counts: [String]
  /// True if `done` and `total` are numbers of lists of children.
  private(set) var countsLists = false
  /// False if the numbers of pages or lists are shown elsewhere on the line.
  var showsTotals = true

  /// `total` is 0 while it is unknown. `counts` are shown as far as there is room, the first ones first.
  package init(done: Int, total: Int, counts: [String] = []) {
    self.done = done
    self.total = total
    self.counts = counts
  }

  /// The progress of a running sync: of its pages, or of its lists once there are lists of children.
  package init(_ current: DaemonStatus.Current) {
    var counts = [current.records.counted(as: "record")]
    if current.phase == .verifying || current.phase == .publishing { counts.insert(current.phase.rawValue, at: 0) }
    if current.refreshes > 0 { counts.append("token " + current.refreshes.counted(as: "refresh")) }
    if current.retries > 0 { counts.append(current.retries.counted(as: "retry")) }
    if current.inFlight > 0 { counts.append("\(current.inFlight) in flight") }
    guard let lists = current.lists else {
      self.init(done: current.pagesDone, total: current.pagesTotal ?? 0, counts: counts)
      return
    }
    self.init(done: lists.done, total: lists.total, counts: [current.pagesDone.counted(as: "page")] + counts)
    countsLists = true
  }

  /// The line of at most `width` cells, without a line end: `━━━━━━━╸────────  17/42 pages  340 records`.
  package func text(width: Int, colour: Bool = false) -> String {
    let unit = countsLists ? "list" : "page"
    let totals =
      total > 0 ? "\(done)/\(total) \(unit)s" : done > 0 ? done.counted(as: unit) : "asking for page 1"
    var tail = showsTotals ? "  " + totals : ""
    for count in counts where done > 0 || countsLists {
      let longer = tail + "  " + count
      if longer.count + Self.minBar > width { break }
      tail = longer
    }
    let room = min(Self.widestBar, width - tail.count)
    guard room >= Self.minBar else { return String(totals.prefix(width)) }
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
