import FoundationEssentials
import Glibc

/// Gives back what a sync needed and an idle daemon does not: the mapping of the program's code, two thirds of what is resident. The kernel maps
/// sixteen pages for each one that is touched; they stay in the page cache, and a touch maps them again without reading the disk
/// (madvise(2), MADV_DONTNEED). Only code, which nothing has written to: written pages would lose what was written.
func releaseIdleMemory() {
  guard let maps = try? String(contentsOf: URL(filePath: "/proc/self/maps"), encoding: .utf8) else { return }
  for line in maps.split(separator: "\n") {
    // proc_pid_maps(5): address perms offset dev inode pathname
    let fields = line.split(separator: " ", maxSplits: 5)
    guard fields.count == 6, fields[1] == "r-xp", fields[5].contains("/") else { continue }
    let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
    guard bounds.count == 2 else { continue }
    madvise(UnsafeMutableRawPointer(bitPattern: bounds[0]), Int(bounds[1] - bounds[0]), MADV_DONTNEED)
  }
}
