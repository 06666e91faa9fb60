import Glibc
internal import RosterCore

extension StatusServer.Place {
  /// The place of the metrics socket: `status-metrics.sock` beside `status.sock`, with the same mode. nil if a
  /// passed socket has no name in the file system.
  package var ofMetrics: StatusServer.Place? {
    switch self {
    case .path(let path, let mode): return .path(Self.metricsPath(path), mode: mode)
    case .passed(let descriptor):
      var facts = stat()
      guard let path = UnixSocket.path(of: descriptor), stat(path, &facts) == 0 else { return nil }
      return .path(Self.metricsPath(path), mode: UInt16(facts.st_mode & 0o777))
    }
  }

  private static func metricsPath(_ path: String) -> String {
    let suffix = ".sock"
    return path.hasSuffix(suffix) ? "\(path.dropLast(suffix.count))-metrics\(suffix)" : path + "-metrics"
  }
}
