import RosterCache

/// Pages on their way to the file of pulled pages, in batches: a hop to the cache's thread costs as much as a page.
/// Pure.
struct StageQueue {
  /// A batch is due at so many received pages, or when the first of them has waited so long: what is received has to
  /// survive a kill (P4).
  static let batch = 16
  static let longestWait = Duration.milliseconds(10)
  /// Confirmed pages are in a file already, unless they were transferred: they wait for received ones, or until so many
  /// are there.
  static let mostConfirmed = 512

  struct Batch: Sendable {
    var received: [ReceivedPage] = []
    /// By resource.
    var confirmed: [String: [ConfirmedPage]] = [:]
    var confirmedCount = 0
    /// Pages that were transferred, as they were or not.
    var transferred = 0
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
    transferred(at: now)
    waiting.received += pages
    waiting.bytes += pages.reduce(0) { $0 + $1.body.count }
  }

  private mutating func transferred(at now: Duration) {
    if waiting.transferred == 0 { since = now }
    waiting.transferred += 1
  }

  mutating func add(_ resource: String, _ page: ConfirmedPage, at now: @autoclosure () -> Duration) {
    if page.receivedAt != nil { transferred(at: now()) }
    waiting.confirmed[resource, default: []].append(page)
    waiting.confirmedCount += 1
  }

  /// nil: none is due. One at a time.
  /// - Parameter isLast: nothing more comes for now.
  mutating func next(at now: @autoclosure () -> Duration, isLast: Bool) -> Batch? {
    guard !isWriting, !waiting.isEmpty else { return nil }
    let isFull = waiting.transferred >= Self.batch || waiting.confirmedCount >= Self.mostConfirmed
    guard isLast || isFull || waiting.transferred > 0 && now() - since >= Self.longestWait else { return nil }
    isWriting = true
    defer { waiting = Batch() }
    return waiting
  }

  /// How long until what waits is due; nil: nothing waits for its time.
  func due(at now: @autoclosure () -> Duration) -> Duration? {
    isWriting || waiting.transferred == 0 ? nil : max(.zero, since + Self.longestWait - now())
  }

  mutating func written() { isWriting = false }

  /// What could not be written, and what waits behind it, is pulled again some time.
  mutating func fail() { self = StageQueue() }
}
