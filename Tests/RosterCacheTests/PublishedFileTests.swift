import FoundationEssentials
import Glibc
import RosterCore
import Testing

@testable import RosterCache

struct PublishedFileTests {
  let folder = Folder()
  private var path: String { folder.cache + ".published" }

  private func text() throws -> String { String(decoding: try folder.bytes("roster.db.published"), as: UTF8.self) }

  @Test("10: after each COMMIT that publishes, the file has snapshot and largest change; other syncs leave it")
  func tells() async throws {
    let cache = try await folder.define()
    #expect(fileStatus(path) == nil)
    _ = try await cache.mirror([[person(1), person(2)]])
    #expect(try text() == "1 0\n")
    #expect(try folder.mode("roster.db.published") == 0o640)
    let first = try #require(fileStatus(path)).st_ino
    _ = try await cache.mirror([nil])
    #expect(try #require(fileStatus(path)).st_ino == first)
    _ = try await cache.mirror([[person(1, mark: "!"), person(3)]])
    #expect(try text() == "3 3\n")
    #expect(try #require(fileStatus(path)).st_ino != first)
    await cache.close()
    #expect(try folder.names().filter { $0.contains("published") } == ["roster.db.published"])
  }

  @Test("10: roster.db.published has mode 0640 whatever the umask")
  func umask() async {
    // The test runs in its own process, because all threads share the umask.
    await #expect(processExitsWith: .success) {
      Glibc.umask(0o777)
      let folder = Folder()
      chmod(folder.path, 0o700)
      let cache = try await folder.define()
      _ = try await cache.mirror([[person(1)]])
      #expect(try folder.mode("roster.db.published") == 0o640)
      await cache.close()
    }
  }

  @Test("10: a start writes the file if it is missing or older than the cache, and only then")
  func start() async throws {
    await (try folder.mirrored([[person(1)]])).close()
    for old in [nil, "", "0 0\n", "1 0\n"] {
      if let old { try folder.write(old.utf8, to: "roster.db.published") } else { unlink(path) }
      let before = fileStatus(path)?.st_ino
      await (try folder.define()).close()
      #expect(try text() == "1 0\n")
      #expect(try (#require(fileStatus(path)).st_ino == before) == (old == "1 0\n"))
    }
  }

  @Test("10: a failed write of the file costs no sync, and another program's file there is left unchanged")
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
