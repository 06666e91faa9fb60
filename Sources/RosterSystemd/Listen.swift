internal import CSystemd
import Glibc
internal import RosterFiles
package import RosterModel

/// Socket activation (sd_listen_fds(3)).
package enum Listen {
  /// The listening Unix stream socket that the service manager passed, close-on-exec; nil if none was passed. Removes
  /// LISTEN_FDS and related variables from the environment, so that a second call finds nothing. Throws if other or
  /// more descriptors were passed: to listen elsewhere than the unit says would hide the mistake.
  package static func passedSocket() throws(Failure) -> CInt? {
    let count = sd_listen_fds(1)
    if count == 0 { return nil }
    guard count > 0 else { throw failure("\(SystemError(code: -count).text) (LISTEN_FDS)") }
    guard count == 1, sd_is_socket_unix(firstPassed, CInt(SOCK_STREAM.rawValue), 1, nil, 0) > 0 else {
      let what = count == 1 ? "one that is no" : "\(count) descriptors, not one"
      throw failure("the service manager passed \(what) listening Unix stream socket")
    }
    return firstPassed
  }

  private static func failure(_ cause: String) -> Failure {
    Failure(
      .cannotWrite, step: "take over the status socket", subject: "LISTEN_FDS", cause: cause,
      hint: "give the .socket unit one ListenStream= with an absolute path")
  }

  /// SD_LISTEN_FDS_START
  private static let firstPassed: CInt = 3
}
