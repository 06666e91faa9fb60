import Glibc
package import RosterAuth
import RosterFiles
package import RosterModel

extension Credentials {
  /// Reads the credential files of a folder; one that is not there is nil, and so are all where `folder` is empty.
  /// - Throws: 78 for a file that is there and cannot be used.
  package init(folder: String) throws(Failure) {
    self.init()
    guard !folder.isEmpty else { return }
    refreshToken = try Self.secret("\(folder)/refresh_token")
    accessToken = try Self.secret("\(folder)/access_token")
    clientID = try Self.secret("\(folder)/client_id")
    clientSecret = try Self.secret("\(folder)/client_secret")
    username = try Self.secret("\(folder)/username")
    password = try Self.secret("\(folder)/password", mayBeEmpty: true)
  }

  /// systemd allows a megabyte for all credentials of a unit (systemd.exec(5)); a token is far from it.
  private static let mostBytes = 64 * 1024

  private static func secret(_ path: String, mayBeEmpty: Bool = false) throws(Failure) -> Secret? {
    let bytes: [UInt8]
    do {
      bytes = try contents(of: path, limit: mostBytes)
    } catch  where error.code == ENOENT {
      return nil
    } catch {
      throw unusable(path, error.text, "see whether rosterd's user may read it")
    }
    guard var text = String(validating: bytes, as: UTF8.self) else {
      throw unusable(path, "it is not text", "write the credential into it as it is")
    }
    // CR LF is one character.
    if text.last?.isNewline == true { text.removeLast() }
    guard mayBeEmpty || !text.isEmpty else {
      throw unusable(path, "it is empty", "write the credential into it, or remove it")
    }
    return Secret(text)
  }

  private static func unusable(_ path: String, _ cause: String, _ hint: String) -> Failure {
    Failure(.configuration, step: "read a credential", subject: path, cause: cause, hint: hint).with(.missingCredential)
  }
}
