import RosterCache

/// Pages that wait to be written to the file of pulled pages, in batches: calling the cache's thread costs as much as a
/// page. Pure.
struct StageQueue {
  /// Number of transferred pages with which a batch is due. It is also due when the first of them has waited for
  /// `maxWait`, because received pages must survive a kill.
  static let batch = 16
  static let maxWait = Duration.milliseconds(10)
  /// Number of confirmed pages with which a batch is due. Such pages are in a file already, unless they were
  /// transferred, and usually wait for the next batch.
  static let maxConfirmed = 512

  struct Batch: Sendable {
    var received: [PageBody] = []
    var confirmed: [StagedList: [ConfirmedPage]] = [:]
    /// Child lists that end after these pages.
    var ends: [ListEnd] = []
    var confirmedCount = 0
    /// Number of transferred pages, changed or unchanged.
    var transferred = 0
    var bytes = 0

    var isEmpty: Bool { received.isEmpty && confirmedCount == 0 && ends.isEmpty }
  }

  struct StagedList: Hashable, Sendable {
    var resource: String
    var place: ListPlace
  }

  /// True if no page waits or is being written.
  var isEmpty: Bool { waiting.isEmpty && !isWriting }
  private var waiting = Batch()
  private var since = Duration.zero
  private var isWriting = false

  mutating func add(_ pages: [PageBody], at now: Duration) {
    transferred(at: now)
    waiting.received += pages
    waiting.bytes += pages.reduce(0) { $0 + $1.body.count }
  }

  private mutating func transferred(at now: Duration) {
    if waiting.transferred == 0 { since = now }
    waiting.transferred += 1
  }

  mutating func add(
    _ resource: String, of place: ListPlace, page: ConfirmedPage, at now: @autoclosure () -> Duration
  ) {
    if page.receivedAt != nil { transferred(at: now()) }
    waiting.confirmed[StagedList(resource: resource, place: place), default: []].append(page)
    waiting.confirmedCount += 1
  }

  /// Ends a child list after the pages that wait.
  mutating func add(_ end: ListEnd) { waiting.ends.append(end) }

  /// The next batch; nil if none is due, or if one is being written.
  /// - Parameter isLast: true if no page is in flight.
  mutating func next(at now: @autoclosure () -> Duration, isLast: Bool) -> Batch? {
    guard !isWriting, !waiting.isEmpty else { return nil }
    let isFull =
      waiting.transferred >= Self.batch
      || waiting.confirmedCount + waiting.ends.count >= Self.maxConfirmed
    guard isLast || isFull || waiting.transferred > 0 && now() - since >= Self.maxWait else { return nil }
    isWriting = true
    defer { waiting = Batch() }
    return waiting
  }

  /// Time until the waiting pages are due; nil if no page has to wait.
  func due(at now: @autoclosure () -> Duration) -> Duration? {
    isWriting || waiting.transferred == 0 ? nil : max(.zero, since + Self.maxWait - now())
  }

  mutating func written() { isWriting = false }

  /// Drops all waiting pages after a failed write: they are pulled again later.
  mutating func fail() { self = StageQueue() }
}
