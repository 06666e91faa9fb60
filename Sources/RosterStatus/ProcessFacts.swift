import Glibc
import RosterCore

/// Resources that this process uses, from proc(5) and clock_gettime(2).
struct ProcessFacts {
  var residentBytes: Int
  var cpuSeconds: Double
  var openDescriptors: Int

  static var now: ProcessFacts {
    ProcessFacts(residentBytes: residentBytes(), cpuSeconds: cpuSeconds(), openDescriptors: openDescriptors())
  }

  /// The second number of statm is in pages.
  private static func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "re") else { return 0 }
    defer { fclose(file) }
    // The file has seven numbers, and a page count of 15 digits would be an exabyte.
    var line = [UInt8](repeating: 0, count: 128)
    let count = fread(&line, 1, line.count, file)
    let numbers = line[..<count].split(separator: UInt8(ascii: " "))
    guard numbers.count > 1, let pages = Int(String(decoding: numbers[1], as: UTF8.self)) else { return 0 }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  static func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  private static func openDescriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var entries = 0
    while readdir(folder) != nil { entries += 1 }
    return entries - 3  // `.`, `..` and the folder's own descriptor
  }
}

/// Sizes of the cache's files in bytes.
package struct FileSizes: Sendable, Equatable {
  /// Size of the file itself.
  package var database: Int64
  /// Size of its write-ahead log.
  package var wal: Int64

  /// Uses stat(2), never the database. A missing file has size 0.
  package static func on(cachePath: String) -> FileSizes {
    FileSizes(database: fileSize(cachePath), wal: fileSize(cachePath + "-wal"))
  }
}
