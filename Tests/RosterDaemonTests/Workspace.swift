import FoundationEssentials
import Glibc

@testable import RosterDaemon

/// A folder of one test's own, gone with it.
final class Workspace: Sendable {
  let folder: String

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "rosterd-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  @discardableResult
  func write(_ text: String, to name: String = "rosterd.toml") throws -> String {
    try write(bytes: Array(text.utf8), to: name)
  }

  @discardableResult
  func write(bytes: [UInt8], to name: String) throws -> String {
    try Data(bytes).write(to: URL(filePath: path(name)))
    return path(name)
  }

  /// Loads this text as a file, in an otherwise empty environment, as root.
  func load(_ text: String, _ environment: [String: String] = [:]) throws -> Configuration {
    try Configuration.load(file: try write(text), environment: environment, isRoot: true).0
  }

  /// The sentences with which it is refused, without the folder's name; empty: it is not.
  func faults(_ text: String, _ environment: [String: String] = [:]) throws -> [String] {
    do {
      _ = try load(text, environment)
      return []
    } catch let error as ConfigurationFaults {
      return error.faults.map { $0.description.replacing("\(folder)/", with: "") }
    }
  }
}
