package import RosterCore
import Synchronization

/// Follows the events of a daemon, and of its successors after a restart. It resumes after the last event received.
package struct EventFollower: Sendable {
  /// Detects a daemon that still runs and no longer answers. Its stream looks like one without events.
  package struct Pulse: Sendable {
    /// Time without an event after which the daemon is asked for its health.
    package var interval: Duration
    /// Time that it has to answer.
    package var limit: Duration

    /// The default: a silence is reported after five seconds in total.
    package static let usual = Pulse(interval: .seconds(3), limit: .seconds(2))
  }

  private let client: StatusClient
  private let policy: SilencePolicy
  private let pulse: Pulse

  /// Delay between two attempts to reach a daemon that does not answer. There is no notification of a start.
  private static let interval = Duration.milliseconds(300)

  /// - Parameter policy: the treatment of a silence.
  package init(client: StatusClient, policy: SilencePolicy, pulse: Pulse = .usual) {
    self.client = client
    self.policy = policy
    self.pulse = pulse
  }

  /// Ends when its task is cancelled, when a closure throws, or when the policy gives up, with a Failure (3). Also
  /// throws a Failure (77) if this user may not use the socket.
  /// - Parameters:
  ///   - opened: Called when no later event can be missed; its argument is true for every stream but the first.
  ///   - silent: Called with the reason when the policy reports a silence.
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

  /// Follows one daemon until it ends or stops answering; always throws.
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

  /// Throws if the daemon shows no sign of life.
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
        _ = try await client.send("GET", target: "/healthz", within: pulse.limit)
        stream.sign(nil)
      }
    }
  }

  private static func silent(_ cause: String) -> Failure {
    Failure(.noDaemon, step: "follow the events", subject: "the daemon", cause: cause)
  }
}

/// Facts about the streams so far.
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

  /// The id after which the next stream resumes. "0" matches no id: a daemon that started while no client was connected
  /// then sends all events that it has.
  var last: String? { state.withLock { $0.last ?? ($0.streams > 0 || $0.wasRefused ? "0" : nil) } }

  /// - Returns: true if there was a stream before.
  func open() -> Bool {
    state.withLock { state in
      (state.sign, state.isOpen) = (.now, true)
      state.streams += 1
      return state.streams > 1
    }
  }

  /// Records that no daemon listened.
  func wasRefused() { state.withLock { $0.wasRefused = true } }

  func sign(_ id: String?) {
    state.withLock { state in
      state.sign = .now
      state.last = id ?? state.last
    }
  }

  /// True if the stream that has ended was open.
  func wasOpened() -> Bool {
    state.withLock { state in
      defer { state.isOpen = false }
      return state.isOpen
    }
  }
}

/// Decides how a client treats a daemon that does not answer.
package struct SilencePolicy: Sendable {
  /// The client's next step.
  package enum Verdict: Sendable, Equatable {
    case wait, tell, giveUp
  }

  /// Length of a silence after which it is reported once.
  package var toldAfter: Duration
  /// Length of a silence after which the client gives up; nil for never.
  package var givenUpAfter: Duration?
  private var isTold = false

  /// Starts without a silence.
  package init(toldAfter: Duration, givenUpAfter: Duration?) {
    self.toldAfter = toldAfter
    self.givenUpAfter = givenUpAfter
  }

  /// - Parameter silence: the time since the last sign of life, or since the start.
  package mutating func failed(after silence: Duration) -> Verdict {
    if let givenUpAfter, silence >= givenUpAfter { return .giveUp }
    guard !isTold, silence >= toldAfter else { return .wait }
    isTold = true
    return .tell
  }

  /// Ends the silence after a sign of life.
  package mutating func answered() { isTold = false }
}
