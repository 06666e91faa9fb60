import ArgumentParser
import Glibc
import RosterCore
import RosterStatusClient

struct Web: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The daemon's page for a browser, until Ctrl-C.")

  @OptionGroup var place: Places
  @Option(help: "The port on 127.0.0.1; 0 is a free port.") var port: UInt16 = 0
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
      ticketUsed: { try? opened?.file.get().remove() })
  }

  /// Starts the desktop's browser. If this fails, the user can open the printed address.
  private static func open(_ address: String) -> AddressFile.Watched {
    let opened = AddressFile.watched(address, environment: environment, exitAfterInterrupt: 0)
    do throws(Failure) {
      let file = try opened.file.get()
      let code = file.openBrowser()
      if code != 0 {
        file.remove()
        let cause = SystemError(code: code).text
        Output.error.tell("cannot open a browser (xdg-open): \(cause); open that address in one")
      }
    } catch {
      Output.error.tell("\(error); open that address in a browser")
    }
    return opened
  }
}
