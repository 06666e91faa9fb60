import ArgumentParser
import FoundationEssentials
import RosterCache
import RosterConfiguration
import RosterModel
import RosterStatusClient

/// Where the daemon is. Every command takes it, so that one set of options serves all; help shows it where it means
/// something.
struct SocketOption: ParsableArguments {
  @Option(help: "The daemon's status socket.", completion: .file())
  var socket: String?

  /// Says on stderr where the configuration file could not tell the place.
  func client() -> StatusClient { StatusClient(socket: path()) }

  /// Likewise.
  func path() -> String { place(socket) { Whereabouts.socket(environment: environment) } }
}

/// Where the cache is; likewise.
struct CacheOption: ParsableArguments {
  @Option(help: "The cache, a file that ends in .db.", completion: .file())
  var cache: String?

  /// Likewise.
  func path() -> String { place(cache) { Whereabouts.cache(environment: environment) } }

  func reader() throws -> CacheReader { try CacheReader(path: path()) }
}

private func place(_ option: String?, else find: () -> Whereabouts) -> String {
  if let option, !option.isEmpty { return option }
  let found = find()
  if case .bad(let text) = found.doubt { Output.error.tell("note: \(text)") }
  return found.path
}

/// What may be behind a failure: the place was a guess.
func doubt(about failure: Failure) -> String? {
  [Whereabouts.socket(environment: environment), Whereabouts.cache(environment: environment)].lazy
    .compactMap { found in
      guard found.path == failure.subject, case .unreadable(let text) = found.doubt else { return nil }
      return text
    }.first
}

var environment: [String: String] { ProcessInfo.processInfo.environment }
