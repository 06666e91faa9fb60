internal import CSystemd
package import FoundationEssentials
import Glibc
import Synchronization

/// Tells the service manager how the daemon is (sd_notify(3)). Without NOTIFY_SOCKET nothing is sent, and nothing
/// fails.
package final class Notify: Sendable {
  private let throttle = Mutex(StatusThrottle())

  /// Sends nothing yet.
  package init() {}

  /// Half of WATCHDOG_USEC, as sd_watchdog_enabled(3) recommends; nil: no watchdog watches this process.
  package static var watchdogInterval: Duration? {
    var microseconds: UInt64 = 0
    guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
    return .microseconds(Int64(microseconds / 2))
  }

  /// The start, or a reload, is over. Its status counts for the throttle: where it comes too early, it is left to
  /// `status`.
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

  /// Sends it, at most twice a second. Returns after which time to come again, with the status of then; nil: it is what
  /// the service manager knows.
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

  /// A reload begins; `ready` ends it.
  package func reloading() {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    send("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
  }

  /// The stop begins.
  package func stopping() { send("STOPPING=1") }

  /// The loop that does the work is alive.
  package func watchdog() { send("WATCHDOG=1") }

  /// The start or the stop needs so much longer, from now on.
  package func extendTimeout(by duration: Duration) {
    send("EXTEND_TIMEOUT_USEC=\(Int64(duration / .microseconds(1)))")
  }

  /// Why it ends: a sentence, which the service manager keeps until the next start, and what it will exit with.
  package func failed(exitStatus: Int32, _ why: String) {
    send(assignment(why))
    send("EXIT_STATUS=\(exitStatus)")
  }

  /// Its failure is nobody's business: the service manager has gone, or never listened.
  private func send(_ state: String) { sd_notify(0, state) }

  /// On one line, since a line break would begin another assignment, and short enough to be read.
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

  /// Bytes of a datagram: systemd drops a longer one whole (NOTIFY_BUFFER_MAX of src/core/manager.c, PIPE_BUF).
  private static let longest = 4096
}
