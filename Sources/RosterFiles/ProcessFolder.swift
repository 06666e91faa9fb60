import Glibc
package import RosterModel

/// Throws a Failure (78) if /proc is not mounted. Swift reads the command line there and would run the default command
/// instead, and libdispatch aborts a process whose threads it cannot list.
package func expectProcessFolder() throws(Failure) {
  let path = "/proc/self/stat"
  guard access(path, R_OK) != 0 else { return }
  throw Failure(
    .configuration, step: "read", subject: path, cause: SystemError.last.text, hint: "mount proc on /proc")
}
