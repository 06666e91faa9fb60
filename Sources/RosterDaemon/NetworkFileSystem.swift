import FoundationEssentials
import Glibc
import RosterFiles

/// Recognises network file systems. SQLite's write-ahead log does not work there for all processes, which must be on
/// one host (sqlite.org/wal.html, 1).
enum NetworkFileSystem {
  /// The type of the path's file system if it is a network file system; nil if it is not, or if the type is unknown.
  static func type(of path: String) -> String? {
    var found = stat()
    guard stat(path, &found) == 0 || stat(parentFolder(of: path), &found) == 0 else { return nil }
    guard let bytes = FileManager.default.contents(atPath: "/proc/self/mountinfo") else { return nil }
    return type(ofDevice: name(of: found.st_dev), in: String(decoding: bytes, as: UTF8.self))
  }

  /// `major:minor`, unpacked as makedev(3) packs them. Swift does not import the macros (bits/sysmacros.h).
  private static func name(of device: dev_t) -> String {
    "\(device >> 8 & 0xFFF | device >> 32 & ~0xFFF):\(device & 0xFF | device >> 12 & ~0xFF)"
  }

  /// - Parameters:
  ///   - device: `major:minor`.
  ///   - mounts: The content of proc_pid_mountinfo(5). The third field is the device, and the type follows a lone
  ///   hyphen.
  static func type(ofDevice device: String, in mounts: String) -> String? {
    for line in mounts.split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 2, fields[2] == device, let hyphen = fields[3...].firstIndex(of: "-"),
        hyphen + 1 < fields.count
      else { continue }
      let type = String(fields[hyphen + 1])
      return isNetwork(type) ? type : nil
    }
    return nil
  }

  /// A `fuse` file system may be remote; `fuseblk` is a local disk.
  static func isNetwork(_ type: String) -> Bool {
    if type.hasPrefix("fuse.") { return true }
    return [
      "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse", "glusterfs", "lustre", "ncpfs", "virtiofs",
    ]
    .contains(type)
  }
}
