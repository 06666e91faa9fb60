import Glibc
import RosterFiles
package import RosterModel

/// The status socket from its clients' point of view: a path, and the meaning of a failed connection.
package struct DaemonSocket: Sendable {
  /// Path of the socket.
  package let path: String
  private let unit: String?

  /// Connects to nothing yet.
  /// - Parameter unit: the daemon's systemd unit, without `.service`, if a user has named it.
  package init(_ path: String, unit: String? = nil) {
    self.path = path
    self.unit = unit
  }

  /// Returns a connection with non-blocking calls; the caller closes it. Throws `Failure`: 3 if no daemon answers, 77
  /// if this user may not use the socket.
  package func connect() throws(Failure) -> Int32 {
    // NIO limits a path to 103 bytes, as other systems do; Linux allows 107 (unix(7)).
    let descriptor = socket(AF_UNIX, UnixSocket.stream, 0)
    if descriptor < 0 { throw failure(errno) }
    let answer = UnixSocket.withAddress(of: path) { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
    if answer == 0 { return descriptor }
    close(descriptor)
    throw answer.map(failure) ?? silent("the path is too long for a socket")
  }

  func failure(_ code: Int32) -> Failure {
    let cause = SystemError(code: code).text
    guard code == EACCES || code == EPERM else { return silent(cause) }
    return Failure(
      .refused, step: "ask the daemon", subject: path, cause: cause,
      hint: GroupAccess.hint(for: path, isSocket: true))
  }

  func silent(_ cause: String) -> Failure {
    Failure(
      .noDaemon, step: "ask the daemon", subject: path, cause: "no daemon answers: \(cause)",
      hint: unit.map { "start it with systemctl start \($0)" }
        ?? "see whether rosterd runs, and whether --socket names its status.socket")
  }
}
