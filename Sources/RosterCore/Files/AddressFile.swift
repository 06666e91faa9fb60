package import Dispatch
import Glibc
import Synchronization

/// A file that leads a browser to an address. Only this user may read it, but all users see the command line of a
/// browser (proc(5)).
package struct AddressFile: Sendable {
  /// Ends in `.html`, by which a desktop finds the browser.
  package let path: String
  /// The folder that was made for the file; nil if the file is in the user's own runtime folder.
  private let folder: String?

  /// - Throws: 73 if the file cannot be written.
  package init(_ address: String, environment: [String: String]) throws(Failure) {
    let suffix = ".html"
    folder = try Self.isPrivate(environment["XDG_RUNTIME_DIR"]) ? nil : Self.makeFolder(environment["TMPDIR"])
    let place = folder ?? environment["XDG_RUNTIME_DIR"] ?? ""
    var name = Array("\(place)/rosterd-XXXXXX\(suffix)".utf8CString)
    // Mode 0600 (mkstemps(3)).
    let file = mkstemps(&name, Int32(suffix.utf8.count))
    path = name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    guard file >= 0 else { throw Self.failure(path, error: SystemError.last) }
    defer { close(file) }
    do throws(SystemError) { try write(Array(Self.page(address).utf8), to: file) } catch {
      remove()
      throw Self.failure(path, error: error)
    }
  }

  /// Also if it is not there any more.
  package func remove() {
    unlink(path)
    if let folder { rmdir(folder) }
  }

  /// A file, and the signal handlers that remove it. Keep them while the file is needed.
  package typealias Watched = (file: Result<AddressFile, Failure>, endings: [any DispatchSourceSignal])

  /// Writes a file, and removes it when a signal ends the process. The handlers are installed before the file exists,
  /// so that no signal leaves it behind. A signal that is ignored, as by nohup(1), remains so.
  /// - Parameter code: Exit code after SIGINT; nil if SIGINT ends the process like the other signals.
  package static func watched(
    _ address: String, environment: [String: String], exitAfterInterrupt code: Int32?
  ) -> Watched {
    let place = Place()
    let endings = endings.filter { !isIgnored(signal: $0) }.map { number in
      handler(of: number) {
        place.file.withLock { $0?.remove() }
        if number == SIGINT, let code { _exit(code) }
        signal(number, SIG_DFL)
        kill(getpid(), number)
      }
    }
    let file = Result { () throws(Failure) in
      try place.file.withLock { (file) throws(Failure) in
        let written = try AddressFile(address, environment: environment)
        file = written
        return written
      }
    }
    return (file, endings)
  }

  /// Returns when Dispatch receives the signal.
  private static func handler(of number: CInt, _ handle: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    let registered = DispatchSemaphore(value: 0)
    source.setRegistrationHandler { registered.signal() }
    source.setEventHandler(handler: handle)
    source.resume()
    registered.wait()
    return source
  }

  /// The handlers wait while the file is being written.
  private final class Place: Sendable {
    let file = Mutex<AddressFile?>(nil)
  }

  private static let endings = [SIGINT, SIGTERM, SIGHUP]

  /// Starts the desktop's browser without waiting for it, and leaves no zombie (signal(7)).
  /// - Returns: 0, or the error's number.
  package func openBrowser() -> Int32 {
    signal(SIGCHLD, SIG_IGN)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The browser inherits no signal that is ignored here.
    var usual = sigset_t()
    sigemptyset(&usual)
    for number in Self.endings + [SIGCHLD, SIGPIPE] { sigaddset(&usual, number) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var files = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("xdg-open"), strdup(path), nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    return posix_spawnp(&child, "xdg-open", &files, &attributes, &arguments, environ)
  }

  private static func page(_ address: String) -> String {
    // These characters would end the attribute or begin a reference in it (WHATWG HTML §13.3).
    let address = address.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
    return """
      <!doctype html>
      <meta charset="utf-8"><title>rosterd</title><meta name="referrer" content="no-referrer">
      <meta http-equiv="refresh" content="0;url=\(address)">
      <p><a href="\(address)">The page of rosterd</a>

      """
  }

  /// True if the folder belongs to this user and is closed to others, as the XDG Base Directory Specification demands.
  /// After `su` the variable may name the folder of another user.
  private static func isPrivate(_ folder: String?) -> Bool {
    var about = stat()
    guard let folder, folder.hasPrefix("/"), lstat(folder, &about) == 0 else { return false }
    return about.st_mode & S_IFMT == S_IFDIR && about.st_uid == geteuid() && about.st_mode & 0o077 == 0
  }

  private static func makeFolder(_ place: String?) throws(Failure) -> String {
    let place = place.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
    var name = Array("\(place)/rosterd-XXXXXX".utf8CString)
    guard let made = mkdtemp(&name) else { throw failure(place, error: SystemError.last) }
    return String(cString: made)
  }

  private static func failure(_ path: String, error: SystemError) -> Failure {
    Failure(.cannotWrite, step: "write the file that leads the browser", subject: path, cause: error.text)
  }
}
