import ArgumentParser
import Dispatch
import Glibc
import RosterFiles
import RosterModel
import RosterStatusClient
import RosterWeb

struct Web: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The daemon's page for a browser, until Ctrl-C.")

  @OptionGroup var place: Places
  @Option(help: "Where on 127.0.0.1; by default a free port.") var port: UInt16 = 0
  @Flag(help: "Open the page in the browser.") var open = false

  func run() async throws {
    signal(SIGINT) { _ in _exit(0) }
    var server = try WebServer(port: port, socket: try await place.daemonSocket())
    try Output.standard.write(server.address + "\n")
    let opened = open ? Self.open(server.ticketAddress()) : nil
    defer { withExtendedLifetime(opened?.endings) {} }
    // The reader of the first line may have closed the pipe.
    try server.run(
      renewed: { Output.standard.say("this address has been used; for another browser: \($0)\n") },
      ticketUsed: { opened?.file.remove() })
  }

  /// Starts the desktop's browser. If this fails, the user can open the printed address.
  /// - Returns: The file that leads the browser, and the signal handlers that remove it; nil if no browser was started.
  private static func open(_ address: String) -> (file: AddressFile, endings: [any DispatchSourceSignal])? {
    do throws(Failure) {
      let file = try AddressFile(address, environment: environment)
      let endings = removing(file)
      let code = spawn("xdg-open", argument: file.path)
      if code == 0 { return (file, endings) }
      file.remove()
      let cause = SystemError(code: code).text
      Output.error.tell("cannot open a browser (xdg-open): \(cause); open that address in one")
    } catch {
      Output.error.tell("\(error); open that address in a browser")
    }
    return nil
  }

  /// Only a signal ends the command. Dispatch's threads receive it, because the server's thread waits in poll(2).
  private static func removing(_ file: AddressFile) -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM, SIGHUP].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        file.remove()
        if number == SIGINT { _exit(0) }
        signal(number, SIG_DFL)
        kill(getpid(), number)
      }
      source.resume()
      return source
    }
  }

  /// Starts a program without waiting for it, and leaves no zombie (signal(7)).
  /// - Returns: 0, or the error's number.
  private static func spawn(_ program: String, argument: String) -> Int32 {
    signal(SIGCHLD, SIG_IGN)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The browser inherits no signal that is ignored here.
    var usual = sigset_t()
    sigemptyset(&usual)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE] { sigaddset(&usual, number) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    var files = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(argument), nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    return posix_spawnp(&child, program, &files, &attributes, &arguments, environ)
  }
}
