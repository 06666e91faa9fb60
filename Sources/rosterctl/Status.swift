import ArgumentParser
import RosterModel
import RosterStatusClient
import RosterTerminal

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "What the daemon does and how old its data is.")

  @OptionGroup var daemon: SocketOption
  @OptionGroup(visibility: .hidden) var unused: CacheOption
  @Flag(help: "Print the headline only, and exit by the state: 0, 1, 77.") var check = false
  @Flag(help: "Print /v1/status unchanged.") var json = false

  func run() async throws {
    let answer = try await daemon.client().send("GET", "/v1/status", within: Self.patience)
    if json { try Output.standard.write(json: try answer.json(of: DaemonStatus.step)) }
    if json, !check { return }
    let status = try answer.decoded(DaemonStatus.self, of: DaemonStatus.step)
    if !json { try show(status) }
    if check, status.state.exit != 0 { throw ExitCode(status.state.exit) }
  }

  /// The status waits for nothing (S1): a person need not either.
  private static let patience = Duration.seconds(5)

  private func show(_ status: DaemonStatus) throws {
    let terminal = Output.standard.terminal
    // In a pipe the headline is one line.
    let width = check ? terminal.limit ?? .max / 2 : terminal.columns
    // On a terminal the state and the token are not to be pushed off the screen.
    let most = terminal.isInteractive ? max(1, terminal.rows / 2) : nil
    let text = StatusText(status, width: width, colour: terminal.colour, mostResources: most)
    try Output.standard.write(check ? text.headline : text.text)
  }
}

extension DaemonStatus.State {
  /// What `status --check` exits with.
  fileprivate var exit: Int32 {
    switch self {
    case .idle, .syncing: 0
    case .degraded, .starting, .stopping: 1
    case .unauthorized: Failure.Kind.refused.exitCode
    }
  }
}
