import Logging
import RosterFetch
import RosterModel
import Synchronization

/// The configuration as it is now, with the transport that it asks for. A reload replaces both; a running sync keeps what it began with.
final class Live: Sendable {
  private struct State {
    var configuration: Configuration
    var settings: HTTPTransport.Settings
    var transport: HTTPTransport
    /// Replaced, and perhaps still in use by the sync that runs.
    var retired: [HTTPTransport] = []
  }

  private let state: Mutex<State>

  init(_ configuration: Configuration, _ settings: HTTPTransport.Settings) {
    state = Mutex(State(configuration: configuration, settings: settings, transport: HTTPTransport(settings)))
  }

  var configuration: Configuration { state.withLock { $0.configuration } }
  var transport: HTTPTransport { state.withLock { $0.transport } }

  func replace(_ configuration: Configuration, _ settings: HTTPTransport.Settings) {
    state.withLock { state in
      if settings != state.settings {
        state.retired.append(state.transport)
        state.transport = HTTPTransport(settings)
        state.settings = settings
      }
      state.configuration = configuration
    }
  }

  /// Closes the connections of what was replaced; neither a sync nor a token request is under way.
  func closeRetired() async throws {
    let retired = state.withLock { state in
      defer { state.retired = [] }
      return state.retired
    }
    for transport in retired { try await transport.shutdown() }
  }

  func close() async throws {
    try await closeRetired()
    try await transport.shutdown()
  }
}
