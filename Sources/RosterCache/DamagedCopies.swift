import FoundationEssentials
import Glibc
internal import RosterFiles
internal import RosterModel

/// What was moved aside: `<path>.damaged-<time>`, and its logs.
enum DamagedCopies {
  /// Enough to look into, on a disk that damages file after file.
  static let most = 3

  /// Removes the oldest beyond `most`.
  /// - Parameter parts: what their names may end with.
  static func prune(_ path: String, parts: [String]) {
    let folder = parentFolder(of: path)
    let prefix = (path.split(separator: "/").last.map(String.init) ?? path) + ".damaged-"
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasPrefix(prefix) }
    let times = Set(names.compactMap { time(String($0.dropFirst(prefix.count)), parts) }).sorted()
    for time in times.dropLast(most) {
      for part in parts { unlink("\(folder)/\(prefix)\(time)\(part)") }
    }
  }

  /// nil: a name that rosterd does not give.
  private static func time(_ rest: String, _ parts: [String]) -> String? {
    let length = Date(timeIntervalSince1970: 0).rfc3339.count
    let time = String(rest.prefix(length))
    guard parts.contains(String(rest.dropFirst(length))), Date(rfc3339: time) != nil else { return nil }
    return time
  }
}
