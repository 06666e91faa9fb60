package import RosterModel

/// The tries of `run` since the last copy that succeeded.
package struct Tries: Sendable {
  /// Position of the last copy that succeeded; nil before the first.
  package private(set) var last: ReplicaPosition?
  private var seconds = 0
  /// Time of the first of the failures in a row whose reason was that another session has the schema.
  private var firstOwned: ContinuousClock.Instant?

  /// No try was made yet.
  package init() {}

  /// Call this when the schema has the cache's snapshot.
  package mutating func succeeded(at position: ReplicaPosition) {
    self = Tries()
    last = position
  }

  /// True if another try may succeed. The session of a program that was killed, or whose network dropped everything,
  /// keeps the schema until the server notices (D1.2).
  package mutating func mayFollow(_ failure: Failure, at now: ContinuousClock.Instant) -> Bool {
    guard failure.kind == .owned else {
      firstOwned = nil
      return failure.kind != .configuration
    }
    let first = firstOwned ?? now
    firstOwned = first
    return now - first < Self.maxOwned
  }

  /// Seconds until the next try: 1, then twice as many each time, at most 30.
  package mutating func pause() -> Int {
    seconds = min(max(1, seconds * 2), firstOwned == nil ? 30 : 5)
    return seconds
  }

  private static let maxOwned = Duration.seconds(60)
}
