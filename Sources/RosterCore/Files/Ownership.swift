import Glibc
import Synchronization

/// The exclusive right of one process to write a cache or a token store.
///
/// It is a lock on `<path>.lock`, held until this value is freed or the process ends in any way (flock(2)). The lock
/// file is never removed, so that two processes cannot lock two files of the same name. It contains the owner's pid and
/// program, and after an orderly end a mark.
package final class Ownership: Sendable {
  /// False if the previous owner ended without `release(isSound: true)`, as after SIGKILL or a power cut.
  package let wasReleased: Bool
  private let lock: String
  private let path: String
  private let program: String
  /// nil after `release`.
  private let descriptor: Mutex<CInt?>

  /// - Parameters:
  ///   - path: The file to own.
  ///   - program: The program's name for the lock file.
  /// - Throws: 75 if another process owns the file, 73 if the lock cannot be made.
  package init(of path: String, program: String = "rosterd") throws(Failure) {
    lock = "\(path).lock"
    self.path = path
    self.program = program
    let taken = try Self.take(path, program: program)
    wasReleased = taken.wasReleased
    descriptor = Mutex(taken.descriptor)
  }

  /// Makes the lock file again if it was removed: a lock protects only while its file has the right name.
  /// - Throws: the same as `init`; then the old lock is still held.
  package func renew() throws(Failure) {
    guard descriptor.withLock({ $0.map { Self.isReplaced($0, name: lock) } }) == true else { return }
    let taken = try Self.take(path, program: program)
    descriptor.withLock { descriptor in
      if let descriptor { close(descriptor) }
      descriptor = taken.descriptor
    }
  }

  /// True if the name belongs to another file or to none. False if the name may not be looked at.
  private static func isReplaced(_ descriptor: CInt, name: String) -> Bool {
    guard let own = Inode(descriptor: descriptor) else { return false }
    guard let found = Inode(name) else { return [ENOENT, ENOTDIR].contains(errno) }
    return own != found
  }

  private struct Lock {
    let descriptor: CInt
    let wasReleased: Bool
  }

  private static func take(_ path: String, program: String) throws(Failure) -> Lock {
    while true {
      let taken = try lockOnce(path, program: program)
      // If the file was removed between open and lock, another process would lock the next file of that name.
      if !isReplaced(taken.descriptor, name: "\(path).lock") { return taken }
      close(taken.descriptor)
    }
  }

  private static func lockOnce(_ path: String, program: String) throws(Failure) -> Lock {
    let lock = "\(path).lock"
    let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode)
    guard descriptor >= 0 else { throw cannotLock(path, error: .last) }
    // The mode must not depend on the umask. A refusal is ignored: another user's lock file keeps its mode.
    _ = fchmod(descriptor, mode)
    giveToFolderOwner(descriptor, at: lock)
    do throws(Failure) {
      let wasReleased = try fill(descriptor, path: path, program: program)
      return Lock(descriptor: descriptor, wasReleased: wasReleased)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Locks the file and writes the owner into it. Returns true if the previous owner has released the file, or if the
  /// file is new.
  private static func fill(_ descriptor: CInt, path: String, program: String) throws(Failure) -> Bool {
    var tries = 0
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno == EINTR { continue }
      if errno == EWOULDBLOCK, tries < Self.maxTries {
        // Another process that calls `isHeld` has a shared lock for an instant.
        tries += 1
        poll(nil, 0, 5)
        continue
      }
      if errno == EWOULDBLOCK { throw owned(path, by: holder(descriptor)) }
      throw cannotLock(path, error: .last)
    }
    let previous = contents(descriptor)
    let wasReleased = previous.isEmpty || previous.hasSuffix(mark)
    let text = Array("\(getpid()) \(program)\n".utf8)
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.count, 0) == text.count else {
      throw cannotLock(path, error: .last)
    }
    // A power cut must not bring the mark back. A disk that cannot say so costs a check at most.
    if wasReleased { _ = fdatasync(descriptor) }
    return wasReleased
  }

  deinit { descriptor.withLock { if let descriptor = $0 { close(descriptor) } } }

  /// Releases the lock while the value still exists. May be called again.
  /// - Parameter isSound: true if the next owner does not need to check the owned file.
  package func release(isSound: Bool) {
    descriptor.withLock { held in
      guard let descriptor = held else { return }
      let text = Array("\(getpid()) \(program)\n\(Self.mark)".utf8)
      if isSound { _ = pwrite(descriptor, text, text.count, 0) }
      close(descriptor)
      held = nil
    }
  }

  /// The second line of the file of an owner that has released it.
  private static let mark = "released\n"
  private static let mode: mode_t = 0o600
  private static let maxTries = 3

  /// True if a process owns that path now; nil if this user may not look.
  package static func isHeld(_ path: String) -> Bool? {
    let descriptor = open("\(path).lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return errno == ENOENT ? false : nil }
    defer { close(descriptor) }
    // The lock is shared, so that two processes that check at the same time do not see each other.
    if flock(descriptor, LOCK_SH | LOCK_NB) == 0 { return false }
    return errno == EWOULDBLOCK ? true : nil
  }

  /// The owner's pid and program from the lock file ("4711 rosterd run"); nil if they are not written yet.
  private static func holder(_ descriptor: CInt) -> (pid: Int, program: String)? {
    let line = contents(descriptor).prefix { !$0.isNewline }
    let words = line.split(maxSplits: 1, whereSeparator: \.isWhitespace)
    guard words.count == 2, let pid = Int(words[0]) else { return nil }
    return (pid, String(words[1]))
  }

  private static func contents(_ descriptor: CInt) -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = pread(descriptor, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
  }

  private static func owned(_ path: String, by holder: (pid: Int, program: String)?) -> Failure {
    Failure(
      .owned, step: "own", subject: path,
      cause: holder.map { "\($0.program) has it, pid \($0.pid)" } ?? "another rosterd has it, of unknown pid",
      hint: "ask the one that runs for a sync with `rosterctl sync`, or stop it")
  }

  private static func cannotLock(_ path: String, error: SystemError) -> Failure {
    Failure(
      .cannotWrite, step: "lock", subject: "\(path).lock", cause: error.text,
      hint: Failure.hint(
        for: error.code, writing: path, else: "see whether its folder is there and rosterd may write to it")
    ).with(Diagnosis.Kind(errno: error.code))
  }
}

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
