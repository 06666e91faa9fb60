import FoundationEssentials
import Glibc
import RosterFiles
import RosterModel
import Testing

@testable import RosterCache

struct PublishedFileTests {
  let folder: Folder
  init() throws { folder = try Folder() }

  private var path: String { folder.cache + ".published" }

  private func text() throws -> String { String(decoding: try folder.bytes("roster.db.published"), as: UTF8.self) }

  @Test("5: after each COMMIT that publishes the file tells snapshot and largest change; after any other sync it stays")
  func tells() async throws {
    let cache = try await folder.define()
    #expect(fileStatus(path) == nil)
    _ = try await cache.mirror([[person(1), person(2)]])
    #expect(try text() == "1 0\n")
    #expect(try folder.mode("roster.db.published") == 0o640)
    let first = try #require(fileStatus(path)).st_ino
    _ = try await cache.mirror([nil])
    #expect(try #require(fileStatus(path)).st_ino == first)
    _ = try await cache.mirror([[person(1, "!"), person(3)]])
    #expect(try text() == "3 3\n")
    #expect(try #require(fileStatus(path)).st_ino != first)
    await cache.close()
    #expect(try folder.names().filter { $0.contains("published") } == ["roster.db.published"])
  }

  @Test("5: its mode is 0640 whatever the umask")
  func umask() async {
    // In a process of its own: the umask is all threads'.
    await #expect(processExitsWith: .success) {
      Glibc.umask(0o777)
      let folder = try Folder()
      chmod(folder.path, 0o700)
      let cache = try await folder.define()
      _ = try await cache.mirror([[person(1)]])
      #expect(try folder.mode("roster.db.published") == 0o640)
      await cache.close()
    }
  }

  @Test("5: a start writes it where it is missing or older than the cache, and leaves it where it is not")
  func start() async throws {
    let cache = try await folder.define()
    _ = try await cache.mirror([[person(1)]])
    await cache.close()
    for old in [nil, "", "0 0\n", "1 0\n"] {
      if let old { try folder.write(old.utf8, to: "roster.db.published") } else { unlink(path) }
      let before = fileStatus(path)?.st_ino
      await (try folder.define()).close()
      #expect(try text() == "1 0\n")
      #expect(try (#require(fileStatus(path)).st_ino == before) == (old == "1 0\n"))
    }
  }

  @Test("5: what cannot be written costs no sync; what somebody else has there is left as it is")
  func foreign() async throws {
    let cache = try await folder.define()
    try folder.write(Array("somebody's\n".utf8), to: "roster.db.published")
    #expect(try await cache.mirror([[person(1)]]).outcome == .published)
    #expect(try text() == "somebody's\n")
    unlink(path)
    #expect(mkdir(path, 0o700) == 0)
    #expect(try await cache.mirror([[person(2)]]).outcome == .published)
    #expect(rmdir(path) == 0)
    #expect(try await cache.mirror([[person(3)]]).outcome == .published)
    #expect(try text() == "3 4\n")
    await cache.close()
  }
}
