import Glibc

/// The hint for a user who may not use a file: which group may. Reading a file needs the permission to read it and to
/// search its folders. Connecting to a socket needs the permission to write to it instead (unix(7)).
package enum GroupAccess {
  /// An imperative.
  /// - Parameter isSocket: True if the file is written to, false if it is read.
  package static func hint(for path: String, isSocket: Bool) -> String {
    // If a folder may not be searched, its permissions decide.
    var place = path
    var about = stat()
    while stat(place, &about) != 0, let slash = place.lastIndex(of: "/"), slash > place.startIndex {
      place = String(place[..<slash])
    }
    let needed = place == path ? (isSocket ? S_IWGRP : S_IRGRP) : S_IXGRP
    let owner = userName(about.st_uid) ?? "\(about.st_uid)"
    // A user should not become a member of root's group for this.
    guard about.st_mode & needed != 0, about.st_gid != 0, let group = groupName(about.st_gid) else {
      return owner == "root" ? "only root may use it" : "only root and \(owner) may use it"
    }
    let user = userName(geteuid()) ?? "USER"
    return "it is for the group \(group): `sudo adduser \(user) \(group)` lets you in from the next login on"
  }

  /// Name of the user who owns the file; nil if it cannot be found out.
  package static func owner(of path: String) -> String? {
    var about = stat()
    return stat(path, &about) == 0 ? userName(about.st_uid) : nil
  }

  /// The buffer size for a group with many members; glibc suggests less (sysconf(3), _SC_GETGR_R_SIZE_MAX).
  private static let room = 64 * 1024

  private static func groupName(_ id: gid_t) -> String? {
    var entry = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: room)
    guard getgrgid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return String(cString: entry.gr_name)
  }

  private static func userName(_ id: uid_t) -> String? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: room)
    guard getpwuid_r(id, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return String(cString: entry.pw_name)
  }
}
