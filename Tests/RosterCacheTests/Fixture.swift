import FoundationEssentials
import Glibc
import Logging
import RosterCore
import RosterDecode
import RosterTestSupport
import Testing

@testable import RosterCache

/// A folder of its own for a test, gone with it.
final class Folder: Sendable {
  private let workspace = Workspace()

  var path: String { workspace.folder }
  var cache: String { path + "/roster.db" }

  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

  func bytes(_ name: String = "roster.db") throws -> Data {
    try Data(contentsOf: URL(filePath: path + "/" + name))
  }

  func write(_ bytes: some Sequence<UInt8>, to name: String = "roster.db") throws {
    try Data(bytes).write(to: URL(filePath: path + "/" + name))
  }

  func mode(_ name: String) throws -> mode_t {
    try #require(fileStatus(path + "/" + name)).st_mode & 0o7777
  }

  /// Every value of a query's first column, as text, read by a connection of its own.
  func ask(_ sql: String) throws -> [String] {
    let database = try Database(path: cache, access: .readOnly)
    database.wait(milliseconds: 5_000)
    return try database.rows(sql) { $0.text(0) }
  }
}

let upstream = "http://127.0.0.1:8600/api"
let noon = Date(timeIntervalSince1970: 1_750_000_000)
let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
let ninetyDays = Duration.seconds(90 * 86_400)

/// The place that these names lead to.
func at(_ names: String...) -> JSONPointer { JSONPointer(segments: names) }

extension Cache {
  /// Compares all resources without a parent, in the order of the definitions.
  func compare() throws -> [ResourceComparison] {
    try plans.filter { $0.resource.each == nil }.map { try compare($0.resource.name) { _, _ in nil }.found }
  }

  /// Number of records that the last whole pull has missed, by resource, as the status shows it.
  func absent() throws -> [String: Int] {
    let resources = try facts().resources.filter { $0.absent > 0 }
    return Dictionary(uniqueKeysWithValues: resources.map { ($0.name, $0.absent) })
  }
}
