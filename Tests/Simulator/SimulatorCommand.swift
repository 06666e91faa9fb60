import ArgumentParser
import Dispatch
import Glibc
import RosterCore
import RosterSimulator

/// The upstream of the tests that are not written in Swift. They change it and read its counts through a second port.
@main
struct SimulatorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roster-simulator",
    abstract: "Simulates an upstream on 127.0.0.1 until standard input ends. Tests/simulator.py drives it.")

  @Option(help: "Port of the upstream; 0 for a free one.")
  var port: UInt16 = 0

  @Option(help: "Port through which it is driven; 0 for a free one.")
  var adminPort: UInt16 = 0

  /// Prints both origins as one line of JSON.
  func run() async throws {
    let upstream = try await Simulator.start(Scenario(characters: []), port: port)
    var scenario = Scenario(characters: [])
    let port = AdminPort(upstream: upstream)
    scenario.beside = { port.answer($0) }
    let admin = try await Simulator.start(scenario, port: adminPort)
    let line = #"{"origin":"\#(upstream.origin)","admin":"\#(admin.origin)"}"# + "\n"
    try write(Array(line.utf8), to: STDOUT_FILENO)
    await endOfInput()
    await admin.stop()
    await upstream.stop()
  }

  /// The program that started this one has the other end of the pipe, which also closes if that program is killed.
  private func endOfInput() async {
    await withCheckedContinuation { ended in
      // A blocking call needs a thread of its own.
      DispatchQueue(label: "input").async {
        var byte: UInt8 = 0
        while read(STDIN_FILENO, &byte, 1) > 0 {}
        ended.resume()
      }
    }
  }
}
