import FoundationEssentials
import Glibc
import RosterAuth
import RosterModel

extension Credentials {
  /// Reads the files of `auth.credentials_dir`; one that is not there is no credential. Throws a Failure 78 for one that cannot be read.
  static func read(from folder: String) throws -> Credentials {
    Credentials(
      refreshToken: try secret("refresh_token", in: folder), accessToken: try secret("access_token", in: folder),
      clientID: try secret("client_id", in: folder), clientSecret: try secret("client_secret", in: folder))
  }

  private static func secret(_ name: String, in folder: String) throws(Failure) -> Secret? {
    if folder.isEmpty { return nil }
    let path = "\(folder)/\(name)"
    guard access(path, R_OK) == 0, let data = FileManager.default.contents(atPath: path) else {
      if errno == ENOENT { return nil }
      throw unreadable(path, String(cString: strerror(errno)))
    }
    guard var text = String(data: data, encoding: .utf8) else { throw unreadable(path, "it is not UTF-8") }
    if text.hasSuffix("\n") { text.removeLast() }
    return Secret(text)
  }

  private static func unreadable(_ path: String, _ cause: String) -> Failure {
    Failure(
      .configuration, step: "read the credential", subject: path, cause: cause,
      hint: "let the user that rosterd runs as read it")
  }
}
