package import FoundationEssentials

/// The embedded upstream: a paged HTTP API with a token endpoint on loopback. A test or the demo can choose, delay and
/// count each answer.
package final class Simulator: Sendable {
  private let backend: Backend
  private let server: SimulatorServer

  private init(backend: Backend, server: SimulatorServer) {
    self.backend = backend
    self.server = server
  }

  /// Returns when it listens on 127.0.0.1. `now` is the upstream's clock, for `Date` headers and the lifetime of
  /// tokens.
  /// - Parameter port: 0 for a free one.
  package static func start(
    _ scenario: Scenario = Scenario(), port: UInt16 = 0, now: @escaping @Sendable () -> Date = { Date() }
  ) async throws -> Simulator {
    let backend = Backend(scenario, now: now)
    return Simulator(backend: backend, server: try await SimulatorServer.start(backend, port: Int(port)))
  }

  /// Closes the socket and every connection.
  package func stop() async { await server.stop() }

  /// Forgets the recorded requests, for tests with thousands of them. The counts are kept.
  package func forgetRequests() {
    backend.with { upstream, _ in
      upstream.counts.pageRequests = []
      upstream.counts.byIDRequests = []
      upstream.counts.tokenRequests = []
    }
  }

  /// Closes every connection, and continues to listen.
  package func disconnect() async { await server.disconnect() }

  /// Scheme, 127.0.0.1 and the port, without a trailing slash.
  package var origin: String { "http://127.0.0.1:\(server.port)" }
  /// The value for `upstream.base_url`.
  package var baseURL: String { "\(origin)/api" }
  /// The value for `auth.token_url`; the relative `token` works, too.
  package var tokenURL: String { "\(origin)/token" }

  /// The current characters.
  package var characters: [Character] { backend.with { upstream, _ in upstream.scenario.characters } }
  /// The scenario with its current lists, tokens and remaining rules.
  package var scenario: Scenario { backend.with { upstream, _ in upstream.scenario } }
  /// The counts so far.
  package var counts: Counts { backend.with { upstream, _ in upstream.counts } }

  /// The credentials at the start of the current session.
  package var credentials: SimulatedCredentials { backend.with { upstream, _ in upstream.tokens.credentials } }
  /// All tokens and secrets ever granted.
  package var secrets: [String] { backend.with { upstream, _ in upstream.tokens.secrets } }

  /// Changes the characters for all later requests.
  package func update(_ edit: @Sendable (inout [Character]) -> Void) {
    backend.with { upstream, now in
      edit(&upstream.scenario.characters)
      upstream.changedAt = now
    }
  }

  /// Changes any other part of the scenario; a new flow needs a `newSession`.
  package func configure(_ change: @Sendable (inout Scenario) -> Void) {
    backend.with { upstream, _ in change(&upstream.scenario) }
  }

  /// Invalidates all access tokens granted so far; the refresh token stays valid.
  package func killAccessTokens() {
    backend.with { upstream, _ in upstream.tokens.killAccess() }
  }

  /// Invalidates all tokens granted so far: the operator has to provide new credentials.
  package func endSession() {
    backend.with { upstream, _ in upstream.tokens.revoke() }
  }

  /// Ends the session and returns the credentials for the next one.
  package func newSession() -> SimulatedCredentials {
    backend.with { upstream, now in
      upstream.tokens.newSession(now: now)
      return upstream.tokens.credentials
    }
  }

  /// Holds back the answers of matching requests until `release`. The requests take effect and are counted.
  package func hold(_ match: Match) { backend.hold(match) }

  /// Opens the gates that are equal to `match`, and sends the held and stalled answers that they cover; nil for all.
  package func release(_ match: Match? = nil) { backend.release(match) }

  /// Sends this number of the answers that `hold(match)` holds back, in the order of arrival. If fewer have arrived,
  /// the next ones follow at once.
  package func pass(_ match: Match, count: Int) { backend.pass(match, count: count) }

  /// Returns when the counts satisfy the condition, which is tested after each event. Throws CancellationError.
  @discardableResult
  package func waitFor(_ condition: @escaping @Sendable (Counts) -> Bool) async throws -> Counts {
    try await backend.wait(for: condition)
  }
}
