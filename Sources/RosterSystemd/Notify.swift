internal import CSystemd
package import FoundationEssentials
import Glibc
package import RosterCore
import Synchronization

/// Reports the daemon's state to the service manager (sd_notify(3)). Without NOTIFY_SOCKET it sends nothing and does
/// not fail. A service manager that does not read never blocks the daemon: the states wait for the next call.
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

/// Sends datagrams to the service manager's socket, $NOTIFY_SOCKET. sd_notify(3) would block while the service manager
/// does not read.
final class ManagerSocket: Sendable {
  private let descriptor: CInt
  /// The address for `sun_path`; nil without NOTIFY_SOCKET. An abstract name begins with NUL (unix(7)).
  private let name: String?

  init() {
    let path = getenv("NOTIFY_SOCKET").map { String(cString: $0) } ?? ""
    switch path.first {
    case "/": name = path
    case "@": name = "\0" + path.dropFirst()
    default: name = nil
    }
    descriptor = name == nil ? -1 : socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var patience = timeval(tv_sec: 0, tv_usec: Self.patience)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Returns false if the socket has no room. Any other failure is ignored: the service manager has ended, or never
  /// listened.
  func send(_ text: String, mayWait: Bool) -> Bool {
    guard let name else { return true }
    let bytes = Array(text.utf8)
    let flags = CInt(MSG_NOSIGNAL) | (mayWait ? 0 : CInt(MSG_DONTWAIT))
    let sent = UnixSocket.withAddress(of: name) { address, size in
      // Each byte of an abstract name counts, and nothing follows it.
      let length = name.utf8.first == 0 ? socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count) : size
      return sendto(descriptor, bytes, bytes.count, flags, address, length)
    }
    return sent ?? 0 >= 0 || errno != EAGAIN && errno != EINTR
  }

  /// Microseconds. A service manager that is merely slow gets each state, and a stuck one causes this delay only once.
  private static let patience = 100_000
}

/// Lets a status through at most twice a second. It stores no rejected status: the caller returns later with the
/// current one.
struct StatusThrottle {
  enum Decision: Equatable {
    case send
    /// Too early by this much.
    case later(Duration)
    /// The service manager has this status already.
    case ignore
  }

  private var latest: (text: String, at: Date)?

  /// After `send`, the status counts as sent.
  mutating func offered(_ text: String, now: Date) -> Decision {
    if text == latest?.text { return .ignore }
    if let wait = wait(from: now) { return .later(wait) }
    latest = (text, now)
    return .send
  }

  /// nil if there is no need to wait.
  private func wait(from now: Date) -> Duration? {
    guard let latest else { return nil }
    let wait = Self.interval - now.timeIntervalSince(latest.at)
    // A clock that was set back must not prolong the wait. A rest below the precision is only a rounding error.
    if wait < Self.precision || wait > Self.interval + Self.precision { return nil }
    return .milliseconds((wait * 1000).rounded(.up))
  }

  private static let interval = 0.5
  private static let precision = 0.000_1
}

/// Socket activation (sd_listen_fds(3)).
package enum Listen {
  /// The listening Unix stream socket that the service manager passed, close-on-exec; nil if none was passed. Removes
  /// LISTEN_FDS and related variables from the environment, so that a second call finds nothing. Throws if other or
  /// more descriptors were passed: to listen elsewhere than the unit says would hide the mistake.
  package static func passedSocket() throws(Failure) -> CInt? {
    let count = sd_listen_fds(1)
    if count == 0 { return nil }
    guard count > 0 else { throw failure("\(SystemError(code: -count).text) (LISTEN_FDS)") }
    guard count == 1, sd_is_socket_unix(firstPassed, CInt(SOCK_STREAM.rawValue), 1, nil, 0) > 0 else {
      let what = count == 1 ? "one that is no" : "\(count) descriptors, not one"
      throw failure("the service manager passed \(what) listening Unix stream socket")
    }
    return firstPassed
  }

  private static func failure(_ cause: String) -> Failure {
    Failure(
      .cannotWrite, step: "take over the status socket", subject: "LISTEN_FDS", cause: cause,
      hint: "give the .socket unit one ListenStream= with an absolute path")
  }

  /// SD_LISTEN_FDS_START
  private static let firstPassed: CInt = 3
}
