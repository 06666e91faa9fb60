import CMalloc
import Glibc

/// Prevents a core file of this process, which would contain credentials and tokens.
///
/// A core file has at least one page, so that the kernel writes none if the limit is 1 byte. At this limit it does not
/// start the program in `kernel.core_pattern` either, as it does at 0. A hard limit of 0 cannot be raised.
package func preventCoreFiles() {
  let resource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
  var limit = rlimit()
  guard getrlimit(resource, &limit) == 0 else { return }
  limit.rlim_max = min(1, limit.rlim_max)
  limit.rlim_cur = limit.rlim_max
  _ = setrlimit(resource, &limit)
}

/// True if the process ignores the signal, as after nohup(1).
package func isIgnored(signal number: Int32) -> Bool {
  var action = sigaction()
  sigaction(number, nil, &action)
  return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
}

/// Makes all threads of this process share two arenas of glibc's malloc (mallopt(3)).
///
/// glibc gives each thread an arena of its own, up to eight per core, and one arena does not use what another has
/// freed. Here one thread at a time does most of the work, so that two arenas save 1 MiB and cost no time. Call this
/// before other threads exist, because an arena that exists stays.
package func limitMemoryArenas() { mallopt(M_ARENA_MAX, 2) }

/// Gives pages without a value back to the kernel (malloc_trim(3)). Call this after work that needed much memory.
package func returnFreeMemory() { malloc_trim(0) }

/// Throws a Failure (78) if /proc is not mounted. Swift reads the command line there and would run the default command
/// instead, and libdispatch aborts a process whose threads it cannot list.
package func expectProcessFolder() throws(Failure) {
  let path = "/proc/self/stat"
  guard access(path, R_OK) != 0 else { return }
  throw Failure(
    .configuration, step: "read", subject: path, cause: SystemError.last.text, hint: "mount proc on /proc")
}

/// Prepares a program, before other threads exist.
///
/// A closed pipe is no signal: EPIPE reports it. Dispatch does not complain in the journal that it may not raise the
/// priority of one of its threads. Each standard stream that is closed becomes /dev/null. Otherwise a socket or a file
/// could get that number and be taken for the stream. Each stand-in allows only the opposite direction, so that to use
/// the stream still fails (EBADF).
package func prepareProcess() {
  signal(SIGPIPE, SIG_IGN)
  setenv("LIBDISPATCH_LOG", "NO", 0)
  for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
    // open(2) returns the lowest free number, which is this stream's.
    _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
  }
}

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
