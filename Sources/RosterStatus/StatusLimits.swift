import Glibc

/// Limits for all clients of the status socket together (S2).
package struct StatusLimits: Sendable {
  /// Number of open connections. Beyond it, the connection that has been idle longest is closed.
  package var connections = most
  /// Time for a request to become complete, from the connection or its first byte on.
  package var incomplete = Duration.seconds(10)
  /// Time between two checks of the socket's name. S3 allows 10 s.
  package var nameCheck = Duration.seconds(9)
  /// Number of answers that are made from the database at a time: a thousand syncs take half a megabyte before they
  /// become text.
  package var maxWork = 4

  /// The contract's limits, whatever the process may open.
  package init() {}

  /// - Parameter descriptors: limit of open descriptors of the process (RLIMIT_NOFILE). Permanent clients must leave
  ///   enough of them for the sync.
  init(descriptors: Int) {
    connections = min(Self.most, max(Self.fewest, descriptors - Self.reserved))
  }

  /// The limits that follow from the current limit of descriptors.
  package static var ofThisProcess: StatusLimits { StatusLimits(descriptors: sysconf(Int32(_SC_OPEN_MAX))) }

  /// Any local user may connect to this socket. It leaves most descriptors to the other one.
  package static var ofMetricsSocket: StatusLimits {
    var limits = ofThisProcess
    limits.connections = min(64, limits.connections)
    return limits
  }

  private static let most = 256
  /// Enough for an administrator who investigates a failure.
  private static let fewest = 8
  /// Twice 64 connections to upstream (a reload replaces all of them), the cache's files, timers and queues.
  private static let reserved = 256
}
