internal import CSystemd
package import FoundationEssentials
import Glibc
import Synchronization

/// Reports the daemon's state to the service manager (sd_notify(3)). Without NOTIFY_SOCKET it sends nothing and does
/// not fail.
package final class Notify: Sendable {
  private let throttle = Mutex(StatusThrottle())

  /// Does not send yet.
  package init() {}

  /// Half of WATCHDOG_USEC, as sd_watchdog_enabled(3) recommends; nil without a watchdog.
  package static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    return .microseconds(Int64(microseconds / 2))
  }

  /// Reports the end of the start or of a reload. Its status counts for the throttle; if it comes too early, `status`
  /// sends it later.
  package func ready(status: String, now: Date) {
    throttle.withLock { throttle in
      guard case .send = throttle.offered(status, now: now) else { return send("READY=1") }
      let assignment = assignment(status)
      let together = "READY=1\n\(assignment)"
      if together.utf8.count <= Self.longest { return send(together) }
      send("READY=1")
      send(assignment)
    }
  }

  /// Sends the status, at most twice a second. Returns the delay after which the caller should call again with the
  /// status of that time; nil if the service manager has the current status.
  package func status(_ text: String, now: Date) -> Duration? {
    throttle.withLock { throttle in
      switch throttle.offered(text, now: now) {
      case .send:
        send(assignment(text))
        return nil
      case .later(let delay): return delay
      case .ignore: return nil
      }
    }
  }

  /// Reports the beginning of a reload; `ready` reports its end.
  package func reloading() {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
  }

  /// Reports the beginning of the stop.
  package func stopping() { send("STOPPING=1") }

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

  /// A failure is ignored: the service manager has ended, or never listened.
  private func send(_ state: String) { sd_notify(0, state) }

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
