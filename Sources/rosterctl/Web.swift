import ArgumentParser
import Glibc
import RosterFiles
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
    var server = try WebServer(port: port, socket: DaemonSocket(try await place.socketPath()))
    try Output.standard.write(server.address + "\n")
    if open { Self.open(server.ticketAddress()) }
    // The reader of the first line may have gone.
    try server.run { Output.standard.say("this address has been used; for another browser: \($0)\n") }
  }

  /// By the desktop's own choice of a browser. Nothing is lost where there is none: the address stands on the terminal.
  private static func open(_ address: String) {
    // Nobody waits for it, and it leaves no zombie (signal(7)).
    signal(SIGCHLD, SIG_IGN)
    var files = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("xdg-open"), strdup(address), nil]
    defer { for argument in arguments { free(argument) } }
    var child: pid_t = 0
    let code = posix_spawnp(&child, "xdg-open", &files, nil, &arguments, environ)
    if code != 0 {
      Output.error.tell("cannot open a browser (xdg-open): \(SystemError(code: code).text); open that address in one")
    }
  }
}
