internal import Logging
internal import RosterFiles
internal import RosterModel

/// `<path>.published`: replaced after each COMMIT that publishes, so that a systemd `.path` unit can start what should
/// follow.
struct PublishedFile {
  private let file: WholeFile
  /// The last try failed, and that was told.
  private var isFailing = false

  init(_ cache: String) { file = WholeFile(cache + ".published", mode: CacheFile.mode) }

  /// Has the file say what readers see now; one that says so stays as it is. It costs no sync where that fails: the
  /// reason is logged once.
  mutating func tell(_ database: Database, _ logger: Logger) {
    do {
      let now = try database.first("SELECT snapshot, (SELECT max(id) FROM main.changes) FROM main.cache_info") {
        (snapshot: $0.optionalInteger(0), change: $0.optionalInteger(1) ?? 0)
      }
      guard let now, let snapshot = now.snapshot else { return }
      try replace(with: Array("\(snapshot) \(now.change)\n".utf8))
      isFailing = false
    } catch {
      if !isFailing { logger.warning("who waits for \(file.path) is not told of the snapshot: \(error)") }
      isFailing = true
    }
  }

  private func replace(with bytes: [UInt8]) throws {
    let found = try? contents(of: file.path, limit: Self.longest)
    if found == bytes { return }
    guard found.map(Self.isOurs) ?? (fileStatus(file.path) == nil) else { throw Foreign() }
    // What a power cut takes, the next start brings back.
    try file.replace(with: bytes, durably: false)
  }

  /// Two numbers of 64 bits, and then some.
  private static let longest = 64

  /// Whether rosterd wrote it, or somebody made an empty one for a unit to wait for.
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
