package import FoundationEssentials
import RosterModel

/// The embedded upstream: a paged HTTP API with a token endpoint on loopback, whose every answer a test or the demo can
/// choose, order and count.
package final class Simulator: Sendable {
  private let backend: Backend
  private let server: SimulatorServer

  private init(backend: Backend, server: SimulatorServer) {
    self.backend = backend
    self.server = server
  }

  /// Listens on 127.0.0.1 when it returns. `now` is the upstream's own time: of `Date`, and of the life of tokens.
  /// - Parameter port: 0 for a free one.
  package static func start(
    _ scenario: Scenario = Scenario(), port: UInt16 = 0, now: @escaping @Sendable () -> Date = { Date() }
  ) async throws -> Simulator {
    let backend = Backend(scenario, now: now)
    return Simulator(backend: backend, server: try await SimulatorServer.start(backend, port: Int(port)))
  }

  /// Closes the socket and every connection.
  package func stop() async { await server.stop() }

  /// Forgets the requests that it has seen, for a test of thousands; the numbers stay.
  package func forgetRequests() {
    backend.with { upstream, _ in
      upstream.counts.pageRequests = []
      upstream.counts.byIDRequests = []
      upstream.counts.tokenRequests = []
    }
  }

  /// Closes every connection, and goes on listening.
  package func disconnect() async { await server.disconnect() }

  /// Scheme, 127.0.0.1 and the port, without a trailing slash.
  package var origin: String { "http://127.0.0.1:\(server.port)" }
  /// For `upstream.base_url`.
  package var baseURL: String { "\(origin)/api" }
  /// For `auth.token_url`; the relative `token` works too.
  package var tokenURL: String { "\(origin)/token" }

  /// As a request would find them now.
  package var characters: [Character] { backend.with { upstream, _ in upstream.scenario.characters } }
  /// What reached it until now.
  package var counts: Counts { backend.with { upstream, _ in upstream.counts } }

  /// What the running session started with.
  package var credentials: SimulatedCredentials { backend.with { upstream, _ in upstream.tokens.credentials } }
  /// Every token and secret there ever was.
  package var secrets: [String] { backend.with { upstream, _ in upstream.tokens.secrets } }

  /// The next version of the characters, for requests from now on.
  package func update(_ edit: @Sendable (inout [Character]) -> Void) {
    backend.with { upstream, now in
      edit(&upstream.scenario.characters)
      upstream.changedAt = now
    }
  }

  /// Changes anything else of the scenario; a new flow needs a `newSession`.
  package func configure(_ change: @Sendable (inout Scenario) -> Void) {
    backend.with { upstream, _ in change(&upstream.scenario) }
  }

  /// Refuses all access tokens granted so far; the refresh token stays good.
  package func killAccessTokens() {
    backend.with { upstream, _ in upstream.tokens.killAccess() }
  }

  /// Refuses everything granted so far: the operator has to bring new credentials.
  package func endSession() {
    backend.with { upstream, _ in upstream.tokens.revoke() }
  }

  /// Ends the session and gives what the next one starts with.
  package func newSession() -> SimulatedCredentials {
    backend.with { upstream, now in
      upstream.tokens.newSession(now: now)
      return upstream.tokens.credentials
    }
  }

  /// From now on requests that match take effect and are counted, but their answers wait for `release`.
  package func hold(_ match: Match) { backend.hold(match) }

  /// Opens the gates that are equal to `match` and sends the held and stalled answers that it covers; nil: all.
  package func release(_ match: Match? = nil) { backend.release(match) }

  /// Returns when the counts satisfy the condition, looked at after each event. Throws CancellationError.
  @discardableResult
  package func waitFor(_ condition: @escaping @Sendable (Counts) -> Bool) async throws -> Counts {
    try await backend.wait(for: condition)
  }
}
