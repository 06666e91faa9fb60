import Glibc
import RosterConfiguration
import RosterFiles
import RosterInference
import RosterModel

/// The configuration file that `infer --add` extends.
struct ExtendedFile {
  /// The path that the user gave.
  let path: String
  /// Empty if the file does not exist.
  private let text: [UInt8]
  /// `upstream.base_url` of the file; nil if the file is empty or does not exist.
  let baseURL: String?
  private let names: Set<String>

  /// Throws `Failure` 78 if the file cannot be read or is not a valid configuration.
  init(_ path: String) throws {
    self.path = path
    do throws(SystemError) { text = try contents(of: path, limit: Configuration.maxFileBytes) } catch {
      guard error.code == ENOENT else {
        throw Failure(.configuration, step: "read", subject: path, cause: error.text, hint: "give a readable TOML file")
      }
      text = []
    }
    let configuration = text.isEmpty ? nil : try Self.configuration(text, path: path)
    baseURL = configuration?.upstream.baseURL
    // The built-in definition is not part of any file.
    names = Set((configuration?.resources ?? []).filter { $0 != .character }.map(\.name))
  }

  /// Replaces the whole file and keeps its mode, owner and group. A missing file is created (0640).
  func add(_ findings: [InferredDefinition]) throws {
    if let twice = findings.first(where: { names.contains($0.resource.name) })?.resource.name {
      throw Failure(
        .configuration, step: "add the definition", subject: path, cause: "it has a [resource.\(twice)] already",
        hint: "rename or remove that one first")
    }
    let known = names.union(findings.map(\.resource.name))
    if let parent = findings.compactMap(\.resource.each?.parent).first(where: { !known.contains($0) }) {
      throw Failure(
        .configuration, step: "add the definition", subject: path, cause: "it has no [resource.\(parent)]",
        hint: "add that one first")
    }
    var text = text
    let gap = text.last == UInt8(ascii: "\n") ? "\n" : "\n\n"
    text += (text.isEmpty ? Inference.toml(of: findings) : gap + Inference.addition(of: findings)).utf8
    _ = try Self.configuration(text, path: path)
    // rename(2) would replace a link instead of its target.
    let place = resolved(path)
    let status = fileStatus(place)
    let file = WholeFile(
      place, mode: status.map { $0.st_mode & 0o7777 } ?? 0o640,
      owner: status.map { FileOwner(user: $0.st_uid, group: $0.st_gid) })
    do throws(FileError) { try file.replace(with: text) } catch {
      throw Failure(
        .cannotWrite, step: error.step, subject: error.path, cause: error.error.text,
        hint: "run infer as the owner of the file and its folder")
    }
  }

  private static func configuration(_ text: [UInt8], path: String) throws -> Configuration {
    do { return try Configuration.load(text, of: path) } catch {
      throw Failure(
        .configuration, step: "add the definition", subject: path,
        cause: "\(error.faults.map(\.description).joined(separator: "; "))",
        hint: "correct the file first")
    }
  }
}
