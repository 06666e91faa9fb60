import Glibc
package import RosterModel

/// The right to write a cache or a token store, which one process has at a time (P14).
///
/// It is a lock on `<path>.lock`, held until this value goes away or the process ends, however it ends (flock(2)). The file
/// stays, so that no two processes can lock two files of that name. It tells who has it: pid and program.
package final class Ownership: Sendable {
  private let descriptor: CInt

  /// - Parameters:
  ///   - path: What is to be owned.
  ///   - program: Whom the lock file names.
  /// - Throws: 75 where another process has it, 73 where the lock cannot be made.
  package init(of path: String, program: String = "rosterd") throws(Failure) {
    let lock = "\(path).lock"
    descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, Self.mode)
    guard descriptor >= 0 else { throw Self.cannotLock(lock, .last) }
    // From here on deinit closes the descriptor.
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      if errno == EWOULDBLOCK { throw Self.owned(path, by: Self.holder(descriptor)) }
      throw Self.cannotLock(lock, .last)
    }
    let text = Array("\(getpid()) \(program)\n".utf8)
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.count, 0) == text.count else {
      throw Self.cannotLock(lock, .last)
    }
  }

  deinit { close(descriptor) }

  /// Gives it up while the value still lives.
  package func release() { flock(descriptor, LOCK_UN) }

  private static let mode: mode_t = 0o600

  /// "4711 rosterd run", as its holder wrote it; nil where it has not yet.
  private static func holder(_ descriptor: CInt) -> (pid: Int, program: String)? {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    let words = String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).split(
      maxSplits: 1, whereSeparator: \.isWhitespace)
    guard words.count == 2, let pid = Int(words[0]) else { return nil }
    return (pid, words[1].filter { !$0.isNewline })
  }

  private static func owned(_ path: String, by holder: (pid: Int, program: String)?) -> Failure {
    Failure(
      .owned, step: "own", subject: path,
      cause: holder.map { "\($0.program) has it, pid \($0.pid)" } ?? "another rosterd has it, of unknown pid",
      hint: "ask the one that runs for a sync with `rosterctl sync`, or stop it")
  }

  private static func cannotLock(_ lock: String, _ error: SystemError) -> Failure {
    Failure(
      .cannotWrite, step: "lock", subject: lock, cause: error.text,
      hint: "see whether its folder is there and rosterd may write to it")
  }
}
