import ArgumentParser
import FoundationEssentials
import Glibc
import RosterCache
import RosterCore
import RosterStatusClient
import RosterSystemd
import RosterTerminal

struct Explain: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Explains the state, and says what to do.",
    discussion: "If no daemon answers, it explains the state of the cache and exits with 3.")

  @OptionGroup var place: Places
  @Flag(help: "Print JSON, as of /v1/explain.") var json = false

  private static let step = "ask for an explanation"
  private static let patience = Duration.seconds(5)

  func run() async throws {
    do {
      let answer = try await place.clientOrSilence().send("GET", target: "/v1/explain", within: Self.patience)
      if json { return try Output.standard.write(json: try answer.json(of: Self.step)) }
      try show(try answer.decoded(Explanation.self, of: Self.step))
    } catch let silence as Failure where silence.kind == .noDaemon {
      let explanation = try await explainAlone(silence)
      try Output.ifRead { if json { try Output.standard.write(asJSON: explanation) } else { try show(explanation) } }
      throw ExitCode(silence.kind.exitCode)
    }
  }

  /// Explains the state that the cache shows, and first why the service of the daemon does not run, if systemd knows.
  private func explainAlone(_ silence: Failure) async throws -> Explanation {
    let unit = place.unit()
    let failed = unit.flatMap { ServiceState.failure(of: $0) }
    do {
      let alone = try await CacheAlone(place, after: silence)
      return Explanation(
        try alone.read { try Self.situation($0, path: alone.path, silence: silence, unit: unit, failed: failed) })
    } catch let failure as Failure {
      guard failed != nil else { throw failure }
      return Explanation(
        Self.situation(.starting, facts: CacheFacts(), path: "", silence: silence, unit: unit, failed: failed))
    }
  }

  private static func situation(
    _ reader: CacheReader, path: String, silence: Failure, unit: String?, failed: ServiceFailure?
  ) throws -> Situation {
    let facts = try reader.facts()
    var situation = situation(
      .init(after: facts.conclusive ?? facts.last, resources: facts.resources), facts: facts, path: path,
      silence: silence, unit: unit, failed: failed)
    situation.rejected = try reader.rejected()
    situation.unfinished = try reader.running()
    return situation
  }

  private static func situation(
    _ state: DaemonStatus.State, facts: CacheFacts, path: String, silence: Failure, unit: String?,
    failed: ServiceFailure?
  ) -> Situation {
    var situation = Situation(state, cache: facts, path: path)
    situation.silence = silence
    situation.failed = failed
    situation.unit = unit ?? situation.unit
    situation.isUserUnit = unit == nil && geteuid() != 0
    return situation
  }

  private func show(_ explanation: Explanation) throws {
    let terminal = Output.standard.terminal
    let text = ExplanationText(explanation, now: Date(), cache: place.unusualCache())
    try Output.standard.write(text.text(width: terminal.columns, colour: terminal.colour))
  }
}
