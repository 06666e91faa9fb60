import FoundationEssentials
import Glibc
internal import Logging
internal import RosterCore

/// Caches that were moved aside: damaged ones as `<path>.damaged-<time>`, and those of older versions as
/// `<path>.schema-<version>`.
enum MovedCaches {
  /// Enough damaged copies to examine, even if a disk damages one file after another.
  static let most = 3

  static func damaged(_ path: String, at date: Date) -> String { "\(path).damaged-\(date.rfc3339)" }

  static func older(_ path: String, version: Int) -> String { "\(path).schema-\(version)" }

  /// Removes the oldest damaged copies beyond `most`.
  /// - Parameter parts: endings that their names may have.
  static func prune(_ path: String, parts: [String]) {
    for time in times(path, parts: parts).dropLast(most) {
      for part in parts { unlink("\(path).damaged-\(time)\(part)") }
    }
  }

  /// The path of the latest damaged copy; nil without a copy.
  static func latest(_ path: String) -> String? { times(path, parts: [""]).last.map { "\(path).damaged-\($0)" } }

  /// The time at which the latest damaged copy was moved aside; nil without a copy.
  static func latestTime(_ path: String) -> Date? { times(path, parts: [""]).last.flatMap { Date(rfc3339: $0) } }

  /// The path of the cache of the latest older version; nil without one.
  static func latestOlder(_ path: String) -> String? {
    (0..<Schema.version).map { older(path, version: $0) }.last { fileStatus($0) != nil }
  }

  private static func times(_ path: String, parts: [String]) -> [String] {
    let prefix = (path.split(separator: "/").last.map(String.init) ?? path) + ".damaged-"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parentFolder(of: path))) ?? []
    let rests = names.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    return Set(rests.compactMap { time($0, parts: parts) }).sorted()
  }

  /// Returns nil for a name that rosterd does not give.
  private static func time(_ rest: String, parts: [String]) -> String? {
    let length = Date(timeIntervalSince1970: 0).rfc3339.count
    let time = String(rest.prefix(length))
    guard parts.contains(String(rest.dropFirst(length))), Date(rfc3339: time) != nil else { return nil }
    return time
  }
}
