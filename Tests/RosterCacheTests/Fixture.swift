import FoundationEssentials
import Glibc
import Logging
import RosterModel
import Testing

@testable import RosterCache

/// A folder of its own for a test, gone with it.
final class Folder: Sendable {
  let path: String

  init() throws {
    let made = FileManager.default.temporaryDirectory.appending(path: "roster-cache-XXXXXX").path
    var template = Array(made.utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var cache: String { path + "/roster.db" }
  var staging: String { path + "/roster.staging.db" }

  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

  func bytes(_ name: String = "roster.db") throws -> Data {
    try Data(contentsOf: URL(filePath: path + "/" + name))
  }

  func write(_ bytes: some Sequence<UInt8>, to name: String = "roster.db") throws {
    try Data(bytes).write(to: URL(filePath: path + "/" + name))
  }

  func mode(_ name: String) throws -> mode_t {
    try #require(CacheFile.status(path + "/" + name)).st_mode & 0o7777
  }

  func open(upstream: String = upstream, at date: Date = noon) async throws -> Cache {
    try await Cache.open(path: cache, upstream: upstream, now: date, logger: quiet)
  }

  /// Every value of a query's first column, as text, read by a connection of its own.
  func ask(_ sql: String) throws -> [String] {
    let database = try Database(path: cache, access: .readOnly)
    database.wait(milliseconds: 5_000)
    return try database.rows(sql) { $0.text(0) }
  }

  /// SQLite's own check of the file, and the index's against the rows it is made of.
  func isSound() throws -> Bool {
    let database = try Database(path: cache, access: .writer)
    try database.keepLog()
    try database.execute("INSERT INTO characters_fts(characters_fts, rank) VALUES ('integrity-check', 1)")
    return try database.first("PRAGMA integrity_check") { $0.text(0) } == "ok"
  }
}

let upstream = "http://127.0.0.1:8600/api"
let noon = Date(timeIntervalSince1970: 1_750_000_000)
let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
let ninetyDays = Duration.seconds(90 * 86_400)

func character(_ id: Int64, _ mark: String = "", episodes: [String] = ["e/1", "e/2"]) -> RosterModel.Character {
  RosterModel.Character(
    id: id, name: "Name \(id)\(mark)", status: "Alive\(mark)", species: "Human", type: "", gender: "unknown",
    origin: .init(name: "Earth (C-137)", url: "o"), location: .init(name: "Citadel", url: "l"),
    image: "i/\(id)", url: "u/\(id)", created: "2017-11-04T18:48:46.250Z", episodes: episodes)
}

func staged(
  _ number: Int, _ characters: [RosterModel.Character], of count: Int, pages: Int, rejects: [Reject] = [],
  etag: String? = nil
) -> PulledPage {
  PulledPage(
    number: number, page: Page(count: count, pages: pages, characters: characters, rejects: rejects),
    validator: Validator(etag: etag ?? "\"\(number)\""), receivedAt: noon)
}

/// Characters in pages of two.
func paged(_ characters: [RosterModel.Character]) -> [PulledPage] {
  let pages = (characters.count + 1) / 2
  return (0..<pages).map { index in
    staged(
      index + 1, Array(characters[(2 * index)..<min(2 * index + 2, characters.count)]), of: characters.count,
      pages: pages)
  }
}

extension Cache {
  /// A whole sync that transferred every page.
  func sync(_ pages: [PulledPage], removing: Removal = .missing, at date: Date = noon) throws -> SyncReport {
    let report = try begin(at: date)
    try stage(pages)
    return try publish(report, pages: pages.count, removing: removing, at: date, history: ninetyDays)
  }

  /// Everything that a publish does, up to the moment of a crash right after its COMMIT.
  func commitAlone(_ report: SyncReport, pages: Int) throws {
    _ = try compare(pages: pages)
    _ = try commit(report, pages, .missing, { noon }, ninetyDays)
  }
}
