import Glibc
import RosterTestSupport
import Testing

@testable import RosterCore

@Suite struct FolderTests {
  // The test has a process of its own, because all threads share the umask.
  @Test("3: folders that rosterd makes have the mode that readers need, whatever the umask")
  func umaskAside() async {
    await #expect(processExitsWith: .success) {
      let workspace = Workspace()
      umask(0o077)
      try makeFolder(of: workspace.path("a/b/roster.db"), mode: 0o755)
      umask(0)
      try makeFolder(of: workspace.path("a/c/token.json"), mode: 0o700)
      for (name, mode): (String, mode_t) in [("a", 0o755), ("a/b", 0o755), ("a/c", 0o700)] {
        var found = stat()
        #expect(stat(workspace.path(name), &found) == 0 && found.st_mode & 0o7777 == mode, "\(name)")
      }
    }
  }

  @Test("3: an existing folder keeps its mode")
  func standing() throws {
    let workspace = Workspace()
    try #require(mkdir(workspace.path("a"), 0o700) == 0)
    try makeFolder(of: workspace.path("a/roster.db"), mode: 0o755)
    var found = stat()
    #expect(stat(workspace.path("a"), &found) == 0 && found.st_mode & 0o7777 == 0o700)
  }
}
