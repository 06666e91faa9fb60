import FoundationEssentials
import Glibc
internal import RosterFiles
internal import RosterModel

/// Damaged caches that were moved aside: `<path>.damaged-<time>` and their logs.
enum DamagedCopies {
  /// Enough copies to examine, even if a disk damages one file after another.
  static let most = 3

  /// Removes the oldest beyond `most`.
  /// - Parameter parts: endings that their names may have.
  static func prune(_ path: String, parts: [String]) {
    let folder = parentFolder(of: path)
    let prefix = (path.split(separator: "/").last.map(String.init) ?? path) + ".damaged-"
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasPrefix(prefix) }
    let times = Set(names.compactMap { time(String($0.dropFirst(prefix.count)), parts: parts) }).sorted()
    for time in times.dropLast(most) {
      for part in parts { unlink("\(folder)/\(prefix)\(time)\(part)") }
    }
  }

  /// Returns nil for a name that rosterd does not give.
  private static func time(_ rest: String, parts: [String]) -> String? {
    let length = Date(timeIntervalSince1970: 0).rfc3339.count
    let time = String(rest.prefix(length))
    guard parts.contains(String(rest.dropFirst(length))), Date(rfc3339: time) != nil else { return nil }
    return time
  }
}
