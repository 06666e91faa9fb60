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

  /// The start, or a reload, is over. Its status counts: where it comes too early, it is left to `status`.
  package func ready(status: String, now: Date) {
    throttle.withLock { throttle in
      send(throttle.goesAlong(status, now: now) ? "READY=1\nSTATUS=\(line(status))" : "READY=1")
    }
  }

  /// Sends it, at most twice a second. Returns after which time `flush` is due; nil: nothing is kept back, or that was
  /// said before.
  package func status(_ text: String, now: Date) -> Duration? {
    throttle.withLock { perform($0.offered(text, now: now)) }
  }

  /// Sends the latest status that was kept back; returns as `status` does.
  package func flush(now: Date) -> Duration? {
    throttle.withLock { perform($0.due(now: now)) }
  }

  private func perform(_ decision: StatusThrottle.Decision) -> Duration? {
    switch decision {
    case .send(let text):
      send("STATUS=\(line(text))")
      return nil
    case .later(let delay): return delay
    case .ignore: return nil
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

  /// Why it ends: what it will exit with.
  package func failed(exitStatus: Int32) { send("EXIT_STATUS=\(exitStatus)") }

  /// Its failure is nobody's business: the service manager has gone, or never listened.
  private func send(_ state: String) { sd_notify(0, state) }

  /// A line break would begin another assignment.
  private func line(_ text: String) -> String {
    String(text.map { $0.isNewline ? " " : $0 })
  }
}
