import Glibc
import RosterTestSupport
import Testing

@testable import RosterCore

@Suite("42: files that root makes", .enabled(if: geteuid() == 0))
struct FolderOwnerTests {
  private static let user: uid_t = 54_323
  private static let group: gid_t = 54_324
  private let workspace: Workspace

  init() throws {
    workspace = Workspace()
    try #require(mkdir(workspace.path("state"), 0o750) == 0)
    try #require(chown(workspace.path("state"), Self.user, Self.group) == 0)
  }

  private func owner(_ name: String) -> [UInt32]? {
    var found = stat()
    return lstat(workspace.path(name), &found) == 0 ? [found.st_uid, found.st_gid] : nil
  }

  @Test("42: a file, a lock and a folder get the owner and the group of their folder")
  func given() throws {
    try WholeFile(workspace.path("state/token.json"), mode: 0o600).replace(with: [])
    _ = try Ownership(of: workspace.path("state/roster.db"))
    try makeFolder(of: workspace.path("state/one/two/roster.db"), mode: 0o755)
    for name in ["token.json", "roster.db.lock", "one", "one/two"] {
      #expect(owner("state/\(name)") == [Self.user, Self.group], "\(name)")
    }
    var found = stat()
    #expect(stat(workspace.path("state/token.json"), &found) == 0 && found.st_mode & 0o7777 == 0o600)
  }

  @Test("42, 55: a file that keeps its owner keeps it in a folder of another user, too")
  func kept() throws {
    let owner = FileOwner(user: 0, group: 54_321)
    try WholeFile(workspace.path("state/rosterd.toml"), mode: 0o640, owner: owner).replace(with: [])
    #expect(self.owner("state/rosterd.toml") == [0, 54_321])
  }

  @Test("42: a file of root's that the folder's owner has linked there stays root's")
  func linked() throws {
    let path = try workspace.write("root's", to: "elsewhere")
    try #require(link(path, workspace.path("state/roster.db.lock")) == 0)
    _ = try Ownership(of: workspace.path("state/roster.db"))
    #expect(owner("elsewhere") == [0, 0])
  }

  @Test("42: a file of another user stays that user's")
  func others() throws {
    let path = try workspace.write("", to: "state/roster.db.lock")
    try #require(chown(path, 54_321, 54_321) == 0)
    _ = try Ownership(of: workspace.path("state/roster.db"))
    #expect(owner("state/roster.db.lock") == [54_321, 54_321])
  }
}
