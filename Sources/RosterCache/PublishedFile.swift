internal import Logging
internal import RosterFiles
internal import RosterModel

/// `<path>.published`: replaced after each COMMIT that publishes, so that a systemd `.path` unit can start a follow-up
/// service.
struct PublishedFile {
  private let file: WholeFile
  /// True if the last attempt failed and its failure was logged.
  private var isFailing = false

  init(_ cache: String) { file = WholeFile(cache + ".published", mode: CacheFile.mode) }

  /// Writes the snapshot that readers see now, unless the file already has it. A failure does not fail the sync: the
  /// reason is logged once.
  mutating func tell(_ database: Database, logger: Logger) {
    do {
      let now = try database.first("SELECT snapshot, (SELECT max(id) FROM main.changes) FROM main.cache_info") {
        (snapshot: $0.optionalInteger(0), change: $0.optionalInteger(1) ?? 0)
      }
      guard let now, let snapshot = now.snapshot else { return }
      try replace(with: Array("\(snapshot) \(now.change)\n".utf8))
      isFailing = false
    } catch {
      if !isFailing { logger.warning("cannot announce the snapshot in \(file.path): \(error)") }
      isFailing = true
    }
  }

  private func replace(with bytes: [UInt8]) throws {
    let found = try? contents(of: file.path, limit: Self.longest)
    if found == bytes { return }
    guard found.map(Self.isOurs) ?? (fileStatus(file.path) == nil) else { throw Foreign() }
    // After a power failure, the next start writes the file again.
    try file.replace(with: bytes, durably: false)
  }

  /// Enough bytes for two numbers of 64 bits.
  private static let longest = 64

  /// True if rosterd wrote the file, or if it is an empty file that was created for a unit to wait for.
  private static func isOurs(_ bytes: [UInt8]) -> Bool {
    let words = bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    return bytes.isEmpty
      || words.count == 2 && bytes.last == UInt8(ascii: "\n")
        && words.joined().dropLast().allSatisfy(\.isDigit)
  }

  private struct Foreign: Error, CustomStringConvertible {
    var description: String { "rosterd did not make this file" }
  }
}
