internal import CSystemd
package import FoundationEssentials
import Glibc
import Synchronization

/// Reports the daemon's state to the service manager (sd_notify(3)). Without NOTIFY_SOCKET it sends nothing and does
/// not fail. A service manager that does not read never blocks the daemon (P13): the states wait for the next call.
package final class Notify: Sendable {
  private struct State {
    var throttle = StatusThrottle()
    /// The states for which the socket had no room, in their order: at most one of each kind.
    var waiting: [String] = []
    var isStopping = false
  }

  private let manager = ManagerSocket()
  private let state = Mutex(State())

  /// Does not send yet.
  package init() {}

  /// Half of WATCHDOG_USEC, as sd_watchdog_enabled(3) recommends; nil without a watchdog.
  package static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    return .microseconds(Int64(microseconds / 2))
  }

  /// Reports the end of the start or of a reload, unless the daemon is stopping. Its status counts for the throttle; if
  /// it comes too early, `status` sends it later.
  package func ready(status: String, now: Date) {
    state.withLock { state in
      if state.isStopping { return }
      guard case .send = state.throttle.offered(status, now: now) else { return send("READY=1", state: &state) }
      let assignment = assignment(status)
      let together = "READY=1\n\(assignment)"
      if together.utf8.count <= Self.longest { return send(together, state: &state) }
      send("READY=1", state: &state)
      send(assignment, state: &state)
    }
  }

  /// Sends the status, at most twice a second. Returns the delay after which the caller should call again with the
  /// status of that time; nil if the service manager has the current status.
  package func status(_ text: String, now: Date) -> Duration? {
    state.withLock { state in
      switch state.throttle.offered(text, now: now) {
      case .send:
        send(assignment(text), state: &state)
        return nil
      case .later(let delay): return delay
      case .ignore: return nil
      }
    }
  }

  /// Reports the beginning of a reload, unless the daemon is stopping; `ready` reports its end.
  package func reloading() {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    state.withLock { state in
      if !state.isStopping { send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)", state: &state) }
    }
  }

  /// Reports the beginning of the stop.
  package func stopping() {
    state.withLock { state in
      state.isStopping = true
      send("STOPPING=1", state: &state)
    }
  }

  /// Reports that the daemon is alive.
  package func watchdog() { send("WATCHDOG=1") }

  /// Asks for this much more time for the start or the stop, counted from now.
  package func extendTimeout(by duration: Duration) {
    send("EXTEND_TIMEOUT_USEC=\(Int64(duration / .microseconds(1)))")
  }

  /// Reports the reason for the end, a sentence that the service manager keeps until the next start, and the exit code.
  package func failed(exitStatus: Int32, _ why: String) {
    send(assignment(why))
    send("EXIT_STATUS=\(exitStatus)")
  }

  /// Sends the states that wait, as far as the socket has room for them now.
  package func sendWaiting() { state.withLock { state in sendWaiting(&state, mayWait: false) } }

  private func send(_ text: String) { state.withLock { state in send(text, state: &state) } }

  /// A newer state replaces a waiting one of its kind. Only the first one that finds no room waits for a moment.
  private func send(_ text: String, state: inout State) {
    let isBehind = !state.waiting.isEmpty
    let kind = text.prefix { $0 != "=" }
    state.waiting.removeAll { $0.prefix { $0 != "=" } == kind }
    state.waiting.append(text)
    sendWaiting(&state, mayWait: !isBehind)
  }

  private func sendWaiting(_ state: inout State, mayWait: Bool) {
    while let next = state.waiting.first, manager.send(next, mayWait: mayWait) { state.waiting.removeFirst() }
  }

  /// The text on one line, since a line break would begin another assignment, and cut to the maximum length.
  private func assignment(_ status: String) -> String {
    let text = "STATUS=\(String(status.map { $0.isNewline ? " " : $0 }))"
    guard text.utf8.count > Self.longest else { return text }
    let mark = "…"
    var room = Self.longest - mark.utf8.count
    let kept = text.prefix { character in
      room -= character.utf8.count
      return room >= 0
    }
    return kept + mark
  }

  /// Bytes of a datagram: systemd drops a longer one completely (NOTIFY_BUFFER_MAX of src/core/manager.c, PIPE_BUF).
  private static let longest = 4096
}
