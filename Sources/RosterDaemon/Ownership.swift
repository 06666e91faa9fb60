import Glibc
package import RosterModel
import Synchronization

/// The right to write a cache or a token store, held by one process at a time through flock(2) on `<path>.lock` (P14). The file stays
/// when the right is given up: removing it would let two processes lock two files of one name.
package final class Ownership: Sendable {
  private let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  deinit { Glibc.close(descriptor) }

  /// Throws a Failure: 75 where another process has it, 73 where the lock file cannot be opened.
  package static func take(_ path: String) throws(Failure) -> Ownership {
    let lock = "\(path).lock"
    let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw cannotOpen(lock) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let holder = Self.holder(descriptor)
      Glibc.close(descriptor)
      throw owned(path, by: holder)
    }
    fchmod(descriptor, 0o600)
    let text = Array("\(getpid()) rosterd\n".utf8)
    // What the file says helps people; the lock is what counts.
    if ftruncate(descriptor, 0) == 0 { _ = pwrite(descriptor, text, text.count, 0) }
    return Ownership(descriptor: descriptor)
  }

  private static func holder(_ descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    let words = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.count >= 2, Int32(words[0]) != nil else { return "another process" }
    return "\(words[1]) with pid \(words[0])"
  }

  private static func owned(_ path: String, by holder: String) -> Failure {
    Failure(
      .owned, step: "own", subject: path, cause: "\(holder) owns it",
      hint: "ask that one for a sync with `rosterctl sync`, or stop it first")
  }

  private static func cannotOpen(_ lock: String) -> Failure {
    Failure(
      .cannotWrite, step: "lock", subject: lock, cause: String(cString: strerror(errno)),
      hint: "see who owns the folder, and whether this user may write to it")
  }
}
