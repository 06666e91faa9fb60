import FoundationEssentials
import Glibc
import RosterAuth
import RosterCore
import RosterDefinition
import Synchronization

/// The locks of this process: the cache, and the token store as soon as a configuration uses it.
final class Locks: Sendable {
  private let cache: Ownership
  private let tokenStore = Mutex<Ownership?>(nil)

  init(_ cache: Ownership) {
    self.cache = cache
  }

  /// Throws the same errors as `Ownership`. The token store stays owned under a later flow without tokens, because its
  /// session may be used again.
  func ownTokenStore(_ configuration: Configuration) throws {
    guard configuration.auth.flow.refreshes else { return }
    try tokenStore.withLock { owned in
      guard owned == nil else { return }
      let path = configuration.tokenStoreFile
      try makeFolder(of: path, mode: 0o700)
      owned = try Ownership(of: path)
    }
  }

  /// Makes the lock file of the cache again if it was removed.
  func renewCache() throws { try cache.renew() }

  /// Does the same for the lock file of the token store.
  func renewTokenStore() throws { try tokenStore.withLock { try $0?.renew() } }

  /// True if the previous owner of the cache has released it in order.
  var wasCacheReleased: Bool { cache.wasReleased }

  /// - Parameter isCacheSound: true if the next owner does not need to check the cache.
  func release(isCacheSound: Bool) {
    tokenStore.withLock { $0?.release(isSound: true) }
    cache.release(isSound: isCacheSound)
  }
}

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
