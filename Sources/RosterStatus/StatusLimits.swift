import Glibc

/// What the clients of the status socket may use together (S2).
package struct StatusLimits: Sendable {
  /// Open at once; the longest idle one makes room for another.
  package var connections = most
  /// For a request to be complete, from the connection or its first byte on.
  package var incomplete = Duration.seconds(10)
  /// How often it is looked whether the socket still has its name; S3 leaves 10 s.
  package var nameCheck = Duration.seconds(9)
  /// Answers that are being made at a time from what the database gives: a thousand syncs are half a megabyte before
  /// they are text.
  package var maxWork = 4
  /// After an answer no other one is begun for this many times as long as it took. 0: each is begun at once.
  package var rest = 0

  /// The contract's, whatever the process may open.
  package init() {}

  /// - Parameter descriptors: that the process may have open (RLIMIT_NOFILE). Clients who stay leave the sync what it
  ///   needs.
  init(descriptors: Int) {
    connections = min(Self.most, max(Self.fewest, descriptors - Self.reserved))
  }

  /// By the limit that holds now.
  package static var ofThisProcess: StatusLimits { StatusLimits(descriptors: sysconf(Int32(_SC_OPEN_MAX))) }

  /// Any local user may connect there. The descriptors of the others stay free, and three quarters of the thread's
  /// time.
  package static var ofMetricsSocket: StatusLimits {
    var limits = ofThisProcess
    limits.connections = min(64, limits.connections)
    limits.maxWork = 1
    limits.rest = 3
    return limits
  }

  private static let most = 256
  /// For an administrator who asks why nothing works.
  private static let fewest = 8
  /// Twice 64 connections to upstream (a reload replaces them all), the cache's files, timers and queues.
  private static let reserved = 256
}
