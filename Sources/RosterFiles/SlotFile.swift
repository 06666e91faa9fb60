import Glibc

/// A file of equal slots, each written in place by a single call. It serves data that changes often and need not
/// survive a power cut. Written slots survive the end of the process, because the kernel has them.
package final class SlotFile: Sendable {
  private let path: String
  private let descriptor: CInt

  /// Opens an existing file that has room for all slots.
  package init(_ path: String) throws(FileError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw .last("open", path: path) }
  }

  deinit { close(descriptor) }

  /// - Parameter bytes: exactly one slot.
  package func write(_ bytes: [UInt8], to slot: Int) throws(FileError) {
    guard pwrite(descriptor, bytes, bytes.count, off_t(slot * bytes.count)) == bytes.count else {
      throw .last("write", path: path)
    }
  }
}
