import FoundationEssentials

/// A folder for one test, which is removed with the value.
package final class Workspace: Sendable {
  /// Absolute path of the folder.
  package let folder: String

  /// Makes an empty folder. If this fails, the first file in it cannot be written.
  package init() {
    folder = FileManager.default.temporaryDirectory.appending(path: "rosterd-\(UUID().uuidString)").path
    try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// The path of a file in the folder.
  package func path(_ name: String) -> String { "\(folder)/\(name)" }

  /// Returns the path.
  @discardableResult
  package func write(_ text: String, to name: String = "rosterd.toml") throws -> String {
    try write(bytes: Array(text.utf8), to: name)
  }

  /// Returns the path.
  @discardableResult
  package func write(bytes: [UInt8], to name: String) throws -> String {
    try Data(bytes).write(to: URL(filePath: path(name)))
    return path(name)
  }
}

/// Runs `body` with the path of a folder that is removed afterwards.
package func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let workspace = Workspace()
  defer { withExtendedLifetime(workspace) {} }
  return try await body(workspace.folder)
}
