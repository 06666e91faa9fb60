import Glibc

/// What the clients of the status socket may use together (S2).
package struct StatusLimits: Sendable {
  /// Open at once; the longest idle one makes room for another.
  package var connections = most
  /// For a request to be complete, from the connection or its first byte on.
  package var incomplete = Duration.seconds(10)
  /// How often it is looked whether the socket still has its name; S3 leaves 10 s.
  package var nameCheck = Duration.seconds(9)

  /// The contract's, whatever the process may open.
  package init() {}

  /// - Parameter descriptors: that the process may have open (RLIMIT_NOFILE). Clients who stay leave the sync what it
  ///   needs.
  init(descriptors: Int) {
    connections = min(Self.most, max(Self.fewest, descriptors - Self.reserved))
  }

  /// By the limit that holds now.
  package static var ofThisProcess: StatusLimits { StatusLimits(descriptors: sysconf(Int32(_SC_OPEN_MAX))) }

  /// Any local user may connect there; the descriptors of the others stay free.
  package static var ofMetricsSocket: StatusLimits {
    var limits = ofThisProcess
    limits.connections = min(64, limits.connections)
    return limits
  }

  private static let most = 256
  /// For an administrator who asks why nothing works.
  private static let fewest = 8
  /// Twice 64 connections to upstream (a reload replaces them all), the cache's files, timers and queues.
  private static let reserved = 256
}
