import Glibc

/// Which file it is while it exists, however it is called. The number is given out again once the file has gone.
package struct Inode: Sendable, Equatable {
  /// `st_dev` of stat(3type).
  package let device: UInt
  /// `st_ino`.
  package let number: UInt

  /// The file that has this name; nil: there is none, or it may not be looked at.
  /// - Parameter following: whether a symbolic link stands for what it points to.
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
