import Glibc
import Synchronization

/// A SIGHUP that arrives before the daemon can reload. Its default action would end the program.
package enum EarlyHangup {
  private static let hasArrived = Atomic(false)

  /// Remembers a SIGHUP from now on, until another part handles the signal.
  package static func remember() {
    // The first use initializes the flag, which a signal handler must not do.
    hasArrived.store(false, ordering: .relaxed)
    signal(SIGHUP) { _ in EarlyHangup.hasArrived.store(true, ordering: .relaxed) }
  }

  /// True if a SIGHUP was remembered.
  static func take() -> Bool { hasArrived.exchange(false, ordering: .relaxed) }
}
