import ArgumentParser
import FoundationEssentials
import RosterCache
import RosterExplanation
import RosterModel
import RosterStatusClient
import RosterTerminal

struct Explain: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Why the state is what it is, and what to do.",
    discussion: "Where no daemon answers, what the cache tells; then it exits with 3.")

  @OptionGroup var daemon: SocketOption
  @OptionGroup var place: CacheOption
  @Flag(help: "Print JSON, as of /v1/explain.") var json = false

  private static let step = "ask for an explanation"
  private static let patience = Duration.seconds(5)

  func run() async throws {
    do {
      let answer = try await daemon.client().send("GET", "/v1/explain", within: Self.patience)
      if json { return try Output.standard.write(json: try answer.json(of: Self.step)) }
      try show(try answer.decoded(Explanation.self, of: Self.step))
    } catch let silence as Failure where silence.kind == .noDaemon {
      let explanation = try explainAlone(silence)
      if json { try Output.standard.write(asJSON: explanation) } else { try show(explanation) }
      throw ExitCode(silence.kind.exitCode)
    }
  }

  /// Explains the state that the cache shows.
  private func explainAlone(_ silence: Failure) throws -> Explanation {
    let alone = CacheAlone(place, socket: daemon.path(), after: silence)
    return try alone.read { reader in
      let facts = try reader.facts()
      var situation = Situation(.init(after: facts.last), facts, path: alone.path)
      situation.silence = silence
      situation.rejected = try reader.rejected()
      situation.unfinished = try reader.running()
      return Explanation(situation)
    }
  }

  private func show(_ explanation: Explanation) throws {
    let terminal = Output.standard.terminal
    let text = ExplanationText(explanation, now: Date())
    try Output.standard.write(text.text(width: terminal.columns, colour: terminal.colour))
  }
}
