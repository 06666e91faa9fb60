import Glibc

/// A file of slots of one size, each of which is written in its place by one call: for what changes often and need not
/// survive a power cut. What is written survives the process, however it ends: the kernel has it.
package final class SlotFile: Sendable {
  private let path: String
  private let descriptor: CInt

  /// Of a file that is there, and has room for all slots.
  package init(_ path: String) throws(FileError) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw .last("open", path) }
  }

  deinit { close(descriptor) }

  /// - Parameter bytes: as many as a slot has.
  package func write(_ bytes: [UInt8], to slot: Int) throws(FileError) {
    guard pwrite(descriptor, bytes, bytes.count, off_t(slot * bytes.count)) == bytes.count else {
      throw .last("write", path)
    }
  }
}
