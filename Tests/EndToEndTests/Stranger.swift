import Glibc
import RosterTestSupport
import Testing

/// Other users of this machine, made of numbers: setpriv(1) needs no names.
enum Stranger {
  /// Of one who reads: in the cache's group, owner of nothing.
  static let reader: uid_t = 54_321
  static let group: gid_t = 54_322
  /// Of one who runs rosterd.
  static let owner: uid_t = 54_323

  /// What to put before a command. Skips the test where it is not run by root.
  static func prefix(user: uid_t = reader, group: gid_t = group) throws -> [String] {
    guard geteuid() == 0 else { try skip("only root can be somebody else") }
    return [
      try Program.tool("setpriv"), "--reuid", "\(user)", "--regid", "\(group)", "--clear-groups", "--no-new-privs",
    ]
  }

  /// One that a stranger may run: a version of the user's own may lie in his home.
  static func python() throws -> String {
    let system = "/usr/bin/python3"
    return access(system, X_OK) == 0 ? system : try Program.tool("python3")
  }

  /// Lets everybody pass to the state, as an installation does.
  static func open(_ site: Site) throws {
    try #require(chmod(site.folder, 0o755) == 0)
    try #require(chmod("\(site.folder)/state", 0o755) == 0)
  }

  /// For users who may not enter the build's folder. Another program copies it: a file that this process has open for
  /// writing is open in the programs that other tests start, and cannot be run then (execve(2), ETXTBSY).
  static func copyRosterctl(to path: String) async throws {
    #expect(try await Program.run(try Program.tool("cp"), [try Program.built("rosterctl"), path]).exit == 0)
  }
}
