import FoundationEssentials
import Glibc
import RosterTestSupport
import Testing

/// The resources that a daemon and its files take.
struct Extent {
  /// Resident memory in bytes.
  var memory: Int
  /// Numbers of descriptors by kind. Connections are separate, since their number varies.
  var descriptors: [String: Int]
  var connections: Int
  /// Sizes in bytes by name.
  var files: [String: Int]

  init(_ site: Site, daemon: Program) throws {
    descriptors = try openFiles(of: "\(daemon.pid)")
    connections = descriptors.removeValue(forKey: "socket:[") ?? 0
    // proc_pid_statm(5): the second number is in pages.
    let numbers = try String(contentsOf: URL(filePath: "/proc/\(daemon.pid)/statm"), encoding: .utf8)
      .split(separator: " ").compactMap { Int($0) }
    memory = try #require(numbers.dropFirst().first) * sysconf(Int32(_SC_PAGESIZE))
    files = [:]
    for name in try site.names() {
      var about = stat()
      if stat("\(site.folder)/state/\(name)", &about) == 0 { files[name] = Int(about.st_size) }
    }
  }
}
