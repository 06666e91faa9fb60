import Glibc

/// Identity of a file while it exists, whatever its name. The number is reused after the file was removed.
package struct Inode: Sendable, Equatable {
  /// `st_dev` of stat(3type).
  package let device: UInt
  /// `st_ino`.
  package let number: UInt

  /// The file with this name; nil if it is missing or may not be looked at.
  /// - Parameter following: true to look at the target of a symbolic link instead of the link.
  package init?(_ path: String, following: Bool = true) {
    var found = stat()
    guard following ? stat(path, &found) == 0 : lstat(path, &found) == 0 else { return nil }
    self.init(found)
  }

  /// The file that a descriptor has open.
  package init?(descriptor: CInt) {
    var found = stat()
    guard fstat(descriptor, &found) == 0 else { return nil }
    self.init(found)
  }

  private init(_ found: stat) { (device, number) = (found.st_dev, found.st_ino) }
}
