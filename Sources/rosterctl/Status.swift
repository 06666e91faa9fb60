import ArgumentParser
import FoundationEssentials
import RosterCore
import RosterStatusClient
import RosterTerminal

struct Status: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints what the daemon does and the age of its data.",
    discussion: "If no daemon answers, it describes the cache and exits with 3.")

  @OptionGroup var place: Places
  @Flag(help: "Print the headline only, and exit by the state: 0, 1, 77; a refused reload is 1.") var check = false
  @Flag(help: "Print /v1/status unchanged.") var json = false

  func run() async throws {
    do { try await ask() } catch let silence as Failure where silence.kind == .noDaemon {
      let now = Date()
      let status = try await CacheAlone(place, after: silence).status(now: now)
      try Output.ifRead {
        if json { return try Output.standard.write(asJSON: status) }
        try show { StatusText(status, now: now, width: $0, colour: $1, maxResources: $2) }
        if !check { try Output.standard.write(followerLines(of: status.cache)) }
      }
      throw ExitCode(silence.kind.exitCode)
    }
  }

  private func ask() async throws {
    let answer = try await place.clientOrSilence().send("GET", target: "/v1/status", within: Self.patience)
    if json { try Output.ifRead { try Output.standard.write(json: try answer.json(of: DaemonStatus.step)) } }
    if json, !check { return }
    let status = try answer.decoded(DaemonStatus.self, of: DaemonStatus.step)
    if !json {
      try Output.ifRead { try show { StatusText(status, now: Date(), width: $0, colour: $1, maxResources: $2) } }
    }
    if !json, !check { try Output.standard.write(followerLines(of: status.cache)) }
    // Readers see good data after a refused reload, but what the administrator wrote is not in use.
    let exit = status.state.exit == 0 && status.config.lastError != nil ? 1 : status.state.exit
    if check, exit != 0 { throw ExitCode(exit) }
  }

  /// The status waits for nothing: a person need not either.
  private static let patience = Duration.seconds(5)

  private func show(_ make: (_ width: Int, _ colour: Bool, _ maxResources: Int?) -> StatusText) throws {
    let terminal = Output.standard.terminal
    // A pipe gets each fact on one line.
    let width = terminal.limit ?? .max / 2
    // On a terminal the state and the token are not to be pushed off the screen.
    let most = terminal.isInteractive ? max(1, terminal.rows / 2) : nil
    let text = make(width, terminal.colour, most)
    try Output.standard.write(check ? text.verdict : text.text)
  }
}

extension DaemonStatus.State {
  /// Exit code of `status --check`.
  fileprivate var exit: Int32 {
    switch self {
    case .idle, .syncing: 0
    case .degraded, .starting, .stopping: 1
    case .unauthorized: Failure.Kind.refused.exitCode
    }
  }
}
