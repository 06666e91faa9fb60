import Glibc
import RosterTestSupport
import Testing

/// Other users of this machine, given by numbers: setpriv(1) needs no names.
enum Stranger {
  /// A user who reads: a member of the cache's group who owns no file.
  static let reader: uid_t = 54_321
  static let group: gid_t = 54_322
  /// The user who runs rosterd.
  static let owner: uid_t = 54_323

  /// The prefix that runs a command as another user. Skips the test if it is not run by root.
  static func prefix(user: uid_t = reader, group: gid_t = group) throws -> [String] {
    guard geteuid() == 0 else { try skip("only root can become another user") }
    return [
      try Program.tool("setpriv"), "--reuid", "\(user)", "--regid", "\(group)", "--clear-groups", "--no-new-privs",
    ]
  }

  /// A Python that another user may run: the user's own version may be in their home folder.
  static func python() throws -> String {
    let system = "/usr/bin/python3"
    return access(system, X_OK) == 0 ? system : try Program.tool("python3")
  }

  /// Lets all users pass through the folders to the state, as an installation does.
  static func open(_ site: Site) throws {
    try #require(chmod(site.folder, 0o755) == 0)
    try #require(chmod("\(site.folder)/state", 0o755) == 0)
  }

  /// A copy for users who may not enter the build's folder. Another program makes the copy. If this process had the
  /// file open for writing, programs started by other tests would inherit it, and the copy could not be executed
  /// (execve(2), ETXTBSY).
  static func copyRosterctl(to path: String) async throws {
    #expect(try await Program.run(try Program.tool("cp"), arguments: [try Program.built("rosterctl"), path]).exit == 0)
  }
}
