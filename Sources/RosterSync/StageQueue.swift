import RosterCache

/// Pages on their way to the file of pulled pages, in batches: a hop to the cache's thread costs as much as a page. Pure.
struct StageQueue {
  /// A batch is due at so many pages, or when its first page has waited so long: what is received has to survive a kill (P4).
  static let batch = 16
  static let longestWait = Duration.milliseconds(100)

  struct Batch: Sendable {
    var received: [ReceivedPage] = []
    /// By resource.
    var confirmed: [String: [ConfirmedPage]] = [:]
    /// Of bodies.
    var bytes = 0
    var count = 0

    var isEmpty: Bool { count == 0 }
  }

  /// Something waits, or is being written.
  var isEmpty: Bool { waiting.isEmpty && !isWriting }
  private var waiting = Batch()
  private var since = Duration.zero
  private var isWriting = false

  mutating func add(_ pages: [ReceivedPage], at now: Duration) {
    if waiting.isEmpty { since = now }
    waiting.received += pages
    waiting.count += pages.count
    waiting.bytes += pages.reduce(0) { $0 + $1.body.count }
  }

  mutating func add(_ resource: String, _ page: ConfirmedPage, at now: Duration) {
    if waiting.isEmpty { since = now }
    waiting.confirmed[resource, default: []].append(page)
    waiting.count += 1
  }

  /// nil: none is due. One at a time.
  /// - Parameter isLast: nothing more comes for now.
  mutating func next(at now: Duration, isLast: Bool) -> Batch? {
    guard !isWriting, !waiting.isEmpty else { return nil }
    guard isLast || waiting.count >= Self.batch || now - since >= Self.longestWait else { return nil }
    isWriting = true
    defer { waiting = Batch() }
    return waiting
  }

  /// How long until what waits is due; nil: nothing waits for its time.
  func due(at now: Duration) -> Duration? {
    isWriting || waiting.isEmpty ? nil : max(.zero, since + Self.longestWait - now)
  }

  mutating func written() { isWriting = false }

  /// What could not be written, and what waits behind it, is pulled again some time.
  mutating func fail() { self = StageQueue() }
}
