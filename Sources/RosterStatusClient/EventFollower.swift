package import RosterModel
import Synchronization

/// Follows the events of one daemon after the other, as soon as there is one: over a restart, from the last one that
/// came on.
package struct EventFollower: Sendable {
  /// How a daemon is told that is still there and no longer answers: its stream looks like one to which nothing
  /// happens.
  package struct Pulse: Sendable {
    /// Without any event it is asked that often.
    package var interval: Duration
    /// And has this long to answer.
    package var limit: Duration

    /// How often, and for how long.
    package init(interval: Duration, limit: Duration) {
      self.interval = interval
      self.limit = limit
    }

    /// Together the five seconds after which a silence is told.
    package static let usual = Pulse(interval: .seconds(3), limit: .seconds(2))
  }

  private let client: StatusClient
  private let policy: SilencePolicy
  private let pulse: Pulse

  /// Between two looks for a daemon that does not answer, or has not yet; nothing tells of one.
  private static let interval = Duration.milliseconds(300)

  /// - Parameter policy: what becomes of a silence.
  package init(client: StatusClient, policy: SilencePolicy, pulse: Pulse = .usual) {
    self.client = client
    self.policy = policy
    self.pulse = pulse
  }

  /// Ends with its task, with what one of the closures throws, and where the policy gives up: then with a Failure (3).
  /// Also throws a Failure (77) where the socket is not allowed to this user.
  /// - Parameters:
  ///   - opened: called once nothing that happens is missed any more; true: not for the first time.
  ///   - silent: called with the reason where the policy says so.
  package func follow(
    opened: @escaping @Sendable (_ again: Bool) async throws -> Void = { _ in },
    silent: @escaping @Sendable (Failure) async throws -> Void,
    each: @escaping @Sendable (StreamedEvent) async throws -> Void
  ) async throws {
    var policy = policy
    let stream = Stream()
    while true {
      do {
        try await once(stream, opened: opened, each: each)
      } catch let failure as Failure where failure.kind == .noDaemon {
        try Task.checkCancellation()
        if stream.wasOpened() { policy.answered() }
        switch policy.failed(after: stream.silence) {
        case .wait: break
        case .tell: try await silent(failure)
        case .giveUp: throw failure
        }
      }
      try await Task.sleep(for: Self.interval)
    }
  }

  /// One daemon, until it ends or no longer answers; always throws.
  private func once(
    _ stream: Stream, opened: @escaping @Sendable (Bool) async throws -> Void,
    each: @escaping @Sendable (StreamedEvent) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        do {
          try await client.follow(
            after: stream.last,
            opened: {
              try await opened(stream.open())
              return true
            },
            each: { event in
              stream.sign(event.id)
              try await each(event)
              return true
            })
        } catch let failure as Failure where failure.kind == .noDaemon && !Task.isCancelled {
          stream.wasRefused()
          throw failure
        }
        throw Self.silent("it stopped")
      }
      group.addTask { try await watch(stream) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Throws where the daemon shows no sign of life.
  private func watch(_ stream: Stream) async throws {
    let (began, longest) = (ContinuousClock.now, pulse.interval + pulse.limit)
    while !stream.isOpen {
      guard ContinuousClock.now - began < longest else {
        throw Self.silent("it did not answer within \(longest.text)")
      }
      try await Task.sleep(for: Self.interval)
    }
    while true {
      let rest = pulse.interval - stream.silence
      if rest > .zero {
        try await Task.sleep(for: rest)
      } else {
        _ = try await client.send("GET", "/healthz", within: pulse.limit)
        stream.sign(nil)
      }
    }
  }

  private static func silent(_ cause: String) -> Failure {
    Failure(.noDaemon, step: "follow the events", subject: "the daemon", cause: cause)
  }
}

/// What is known of the streams so far.
private final class Stream: Sendable {
  private struct State {
    var last: String?
    var sign = ContinuousClock.now
    var isOpen = false
    var wasRefused = false
    var streams = 0
  }

  private let state = Mutex(State())

  var silence: Duration { ContinuousClock.now - state.withLock { $0.sign } }
  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// What to go on after. A daemon that began while nobody listened sends all that it has to an id that is none of its
  /// own.
  var last: String? { state.withLock { $0.last ?? ($0.streams > 0 || $0.wasRefused ? "0" : nil) } }

  /// - Returns: Whether there was one before.
  func open() -> Bool {
    state.withLock { state in
      (state.sign, state.isOpen) = (.now, true)
      state.streams += 1
      return state.streams > 1
    }
  }

  /// Nobody was there to answer.
  func wasRefused() { state.withLock { $0.wasRefused = true } }

  func sign(_ id: String?) {
    state.withLock { state in
      state.sign = .now
      state.last = id ?? state.last
    }
  }

  /// Whether the stream that has ended was open.
  func wasOpened() -> Bool {
    state.withLock { state in
      defer { state.isOpen = false }
      return state.isOpen
    }
  }
}
