import RosterCache

/// Pages on their way to the file of pulled pages, in batches: a hop to the cache's thread costs as much as a page.
/// Pure.
struct StageQueue {
  /// A batch is due at so many received pages, or when the first of them has waited so long: what is received has to
  /// survive a kill (P4).
  static let batch = 16
  static let longestWait = Duration.milliseconds(100)
  /// Confirmed pages are in a file already: they wait for received ones, or until so many are there.
  static let mostConfirmed = 512

  struct Batch: Sendable {
    var received: [ReceivedPage] = []
    /// By resource.
    var confirmed: [String: [ConfirmedPage]] = [:]
    var confirmedCount = 0
    /// Of bodies.
    var bytes = 0

    var isEmpty: Bool { received.isEmpty && confirmedCount == 0 }
  }

  /// Something waits, or is being written.
  var isEmpty: Bool { waiting.isEmpty && !isWriting }
  private var waiting = Batch()
  private var since = Duration.zero
  private var isWriting = false

  mutating func add(_ pages: [ReceivedPage], at now: Duration) {
    if waiting.received.isEmpty { since = now }
    waiting.received += pages
    waiting.bytes += pages.reduce(0) { $0 + $1.body.count }
  }

  mutating func add(_ resource: String, _ page: ConfirmedPage) {
    waiting.confirmed[resource, default: []].append(page)
    waiting.confirmedCount += 1
  }

  /// nil: none is due. One at a time.
  /// - Parameter isLast: nothing more comes for now.
  mutating func next(at now: @autoclosure () -> Duration, isLast: Bool) -> Batch? {
    guard !isWriting, !waiting.isEmpty else { return nil }
    let isFull = waiting.received.count >= Self.batch || waiting.confirmedCount >= Self.mostConfirmed
    guard isLast || isFull || !waiting.received.isEmpty && now() - since >= Self.longestWait else { return nil }
    isWriting = true
    defer { waiting = Batch() }
    return waiting
  }

  /// How long until what waits is due; nil: nothing waits for its time.
  func due(at now: @autoclosure () -> Duration) -> Duration? {
    isWriting || waiting.received.isEmpty ? nil : max(.zero, since + Self.longestWait - now())
  }

  mutating func written() { isWriting = false }

  /// What could not be written, and what waits behind it, is pulled again some time.
  mutating func fail() { self = StageQueue() }
}
