import Glibc
import RosterCore
import RosterDefinition

/// The configuration file that `infer --add` extends.
struct ExtendedFile {
  /// The path that the user gave.
  let path: String
  /// Empty if the file does not exist.
  private let text: [UInt8]
  /// `upstream.base_url` of the file; nil if the file has only comments or does not exist.
  let baseURL: String?
  private let names: Set<String>

  /// True if the file has a line other than comments and blank ones.
  private let isUsed: Bool

  /// Throws `Failure` 78 if the file cannot be read or is not a valid configuration.
  init(_ path: String) throws {
    self.path = path
    do throws(SystemError) { text = try contents(of: path, limit: Configuration.maxFileBytes) } catch {
      guard error.code == ENOENT else {
        throw Failure(.configuration, step: "read", subject: path, cause: error.text, hint: "give a readable TOML file")
      }
      var status = stat()
      if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
        throw Failure(
          .configuration, step: "read", subject: path, cause: "it is a link to a file that does not exist",
          hint: "create that file, or remove the link")
      }
      text = []
    }
    isUsed = text.split(separator: UInt8(ascii: "\n")).contains { line in
      line.first { $0 > 0x20 }.map { $0 != UInt8(ascii: "#") } ?? false
    }
    let configuration = isUsed ? try Self.configuration(text, path: path) : nil
    baseURL = configuration?.upstream.baseURL
    // The built-in definition is not part of any file.
    names = Set((configuration?.resources ?? []).filter { $0 != .character }.map(\.name))
  }

  private static func cannotWrite(_ error: FileError) -> Failure {
    Failure(
      .cannotWrite, step: error.step, subject: error.path, cause: error.error.text,
      hint: "run infer as the owner of the file and its folder")
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
    let gap = text.isEmpty ? "" : text.last == UInt8(ascii: "\n") ? "\n" : "\n\n"
    text += (gap + (isUsed ? Inference.addition(of: findings) : Inference.toml(of: findings))).utf8
    _ = try Self.configuration(text, path: path)
    let place = resolved(path)
    let status = fileStatus(place)
    let file = WholeFile(
      place, mode: status.map { $0.st_mode & 0o7777 } ?? 0o640,
      owner: status.map { FileOwner(user: $0.st_uid, group: $0.st_gid) }, isUsers: true)
    do throws(FileError) { try file.replace(with: text) } catch { throw Self.cannotWrite(error) }
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
