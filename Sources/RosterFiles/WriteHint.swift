import Glibc
package import RosterModel

extension Failure {
  /// Advice for a user after a call on one of rosterd's files failed with this errno (errno(3)).
  /// - Parameter path: the cache or the token store. The names of the files beside it begin with the same path.
  package static func hint(for code: Int32, writing path: String, else hint: String) -> String {
    [EACCES, EPERM].contains(code) ? writeHint(path) : self.hint(for: code, else: hint)
  }

  /// Advice on how to let rosterd's user write a file.
  package static func writeHint(_ path: String) -> String {
    "rosterd's user must be able to write the file and its folder, not only read them; if root made it: "
      + "chown --reference=\(parentFolder(of: path)) \(path)*"
  }
}
