import FoundationEssentials
import Glibc
import RosterTestSupport
import Testing

@testable import RosterCore

@Suite("42: one rosterd owns a cache")
struct OwnershipTests {
  let workspace = Workspace()

  @Test("42: a second owner ends with 75; the message has the first one's pid and what to do instead")
  func second() throws {
    let path = workspace.path("roster.db")
    let first = try Ownership(of: path, program: "rosterd run")
    defer { withExtendedLifetime(first) {} }
    #expect(
      throws: Failure(
        .owned, step: "own", subject: path, cause: "rosterd run has it, pid \(getpid())",
        hint: "ask the one that runs for a sync with `rosterctl sync`, or stop it")
    ) { try Ownership(of: path, program: "rosterd sync") }
  }

  @Test("42: the lock file stays with pid and program, and the next owner's replace them")
  func stays() throws {
    let path = workspace.path("roster.db")
    do { _ = try Ownership(of: path, program: "a much longer name than the next") }
    #expect(FileManager.default.fileExists(atPath: "\(path).lock"))
    let next = try Ownership(of: path, program: "rosterd run")
    defer { withExtendedLifetime(next) {} }
    #expect(try String(contentsOfFile: "\(path).lock", encoding: .utf8) == "\(getpid()) rosterd run\n")
    var status = stat()
    #expect(stat("\(path).lock", &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test("43: the next owner knows whether the previous one released the file in order")
  func released() throws {
    let path = workspace.path("roster.db")
    let first = try Ownership(of: path)
    #expect(first.wasReleased)
    first.release(isSound: true)
    let killed = try Ownership(of: path)
    #expect(killed.wasReleased)
    #expect(try String(contentsOfFile: "\(path).lock", encoding: .utf8) == "\(getpid()) rosterd\n")
    // A second release must not write into the file of the next owner.
    first.release(isSound: true)
    #expect(try String(contentsOfFile: "\(path).lock", encoding: .utf8) == "\(getpid()) rosterd\n")
    killed.release(isSound: false)
    let last = try Ownership(of: path)
    #expect(!last.wasReleased)
    last.release(isSound: true)
    #expect(try String(contentsOfFile: "\(path).lock", encoding: .utf8).hasPrefix("\(getpid()) rosterd\n"))
  }

  @Test("A lock that cannot be made is 73 with the reason")
  func cannot() throws {
    try workspace.write("", to: "file")
    let path = workspace.path("file/roster.db")
    #expect(
      throws: Failure(
        .cannotWrite, step: "lock", subject: "\(path).lock", cause: "Not a directory",
        hint: "see whether its folder is there and rosterd may write to it"
      ).with(Diagnosis.Kind(errno: ENOTDIR))
    ) { try Ownership(of: path, program: "rosterd run") }
  }
}
