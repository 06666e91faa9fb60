import FoundationEssentials
import Glibc
import RosterConfiguration
import RosterFiles
import RosterModel
import RosterSimulator

/// A new folder for a demo's files. It is not removed, so that the cache can be examined.
struct DemoFolder: Sendable {
  let path: String

  var cache: String { "\(path)/roster.db" }
  var socket: String { "\(path)/status.sock" }

  static func make(credentials: [String: String]) throws -> DemoFolder {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var template = Array("\(parent)/rosterd-demo-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Failure(
        .cannotWrite, step: "make a folder", subject: parent, cause: SystemError.last.text,
        hint: "name another one in TMPDIR")
    }
    let folder = DemoFolder(path: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    try folder.write(credentials)
    return folder
  }

  /// The configuration as a user would write it in the environment, with the definitions of
  /// `config/sources/rickandmorty.toml` and a list of characters for each episode.
  func configuration(of upstream: Simulator) throws -> Configuration {
    var configuration = try Configuration.load(
      file: nil,
      environment: [
        "ROSTERD_UPSTREAM_BASE_URL": upstream.baseURL, "ROSTERD_AUTH_FLOW": "authenticate_form",
        "ROSTERD_AUTH_TOKEN_URL": upstream.tokenURL, "ROSTERD_AUTH_CREDENTIALS_DIR": path,
        "ROSTERD_AUTH_TOKEN_STORE": "\(path)/token.json", "ROSTERD_CACHE_PATH": cache,
        "ROSTERD_STATUS_SOCKET": socket,
      ], isRoot: false
    ).configuration
    configuration.resources = [.character, .location, .episode, .appearance]
    return configuration
  }

  private func write(_ credentials: [String: String]) throws {
    for (name, secret) in credentials {
      try Data(secret.utf8).write(to: URL(filePath: "\(path)/\(name)"))
      chmod("\(path)/\(name)", 0o600)
    }
  }
}

extension Resource {
  /// The characters that speak in each episode. Only the embedded upstream has such lists.
  fileprivate static let appearance = Resource(
    name: "appearance", path: "/episode/{episode.id}/character", table: "appearances", pages: Pages(.one),
    columns: [
      Column("id", at: JSONPointer(segments: ["id"]), .integer), Column("name", at: JSONPointer(segments: ["name"])),
      Column("lines", at: JSONPointer(segments: ["lines"]), .integer),
    ], each: Each(of: "episode"))
}
