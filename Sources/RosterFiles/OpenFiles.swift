import Glibc
package import RosterModel

/// The limits of open files (RLIMIT_NOFILE) of this process. NIO and libdispatch end a process that has no descriptor
/// left for an event loop, so that too few must be noticed before.
package struct OpenFiles: Sendable, Equatable {
  var soft: UInt
  var hard: UInt

  /// Enough for a sync with a few connections.
  private static let fewest: UInt = 32
  /// The usual soft limit. A higher one is not needed, and programs that use select(2) cannot have it.
  private static let usual: UInt = 1024

  /// The limits with a soft one that is enough, if the hard one permits that.
  /// - Throws: a `Failure` (73) if the hard limit is too low.
  func raised() throws(Failure) -> OpenFiles {
    guard hard >= Self.fewest else {
      throw Failure(
        .cannotWrite, step: "open files", subject: "RLIMIT_NOFILE",
        cause: "the hard limit is \(hard), and rosterd needs at least \(Self.fewest)",
        hint: "raise it with ulimit -n, or with LimitNOFILE= in the unit")
    }
    return OpenFiles(soft: max(soft, min(Self.usual, hard)), hard: hard)
  }

  /// Raises the soft limit of this process.
  /// - Throws: as `raised()`.
  package static func raise() throws(Failure) {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = rlim_t(try OpenFiles(soft: UInt(limit.rlim_cur), hard: UInt(limit.rlim_max)).raised().soft)
    _ = setrlimit(resource, &limit)
  }
}
