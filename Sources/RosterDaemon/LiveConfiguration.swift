import FoundationEssentials
import RosterConfiguration
import RosterFetch
import RosterModel
import Synchronization

/// The current configuration and its transport. A reload replaces both, and every later request uses the new ones, even
/// in a running sync. A replaced transport is closed after its last request.
final class LiveConfiguration: Sendable {
  /// The configuration and the transport that one request uses. Each reload makes a new snapshot. It is a class, so
  /// that a request does not copy the configuration.
  final class Snapshot: Sendable {
    let configuration: Configuration
    let transport: HTTPTransport

    init(_ configuration: Configuration, transport: HTTPTransport) {
      self.configuration = configuration
      self.transport = transport
    }
  }

  private struct State {
    var settings: HTTPTransport.Settings
    var line: Snapshot
    /// Number of users of each transport that is in use.
    var users: [ObjectIdentifier: Int] = [:]
    /// Replaced transports that are still in use.
    var retired: [ObjectIdentifier: HTTPTransport] = [:]

    mutating func begin() -> Snapshot {
      users[ObjectIdentifier(line.transport), default: 0] += 1
      return line
    }

    /// Returns the transport if it may be closed now.
    mutating func end(_ transport: HTTPTransport) -> HTTPTransport? {
      let id = ObjectIdentifier(transport)
      users[id, default: 0] -= 1
      guard users[id] == 0 else { return nil }
      users[id] = nil
      return retired.removeValue(forKey: id)
    }

    /// Returns the old transport if it may be closed now.
    mutating func replace(_ configuration: Configuration, settings: HTTPTransport.Settings) -> HTTPTransport? {
      let old = line.transport
      guard settings != self.settings else {
        line = Snapshot(configuration, transport: old)
        return nil
      }
      self.settings = settings
      line = Snapshot(configuration, transport: HTTPTransport(settings))
      guard users[ObjectIdentifier(old)] != nil else { return old }
      retired[ObjectIdentifier(old)] = old
      return nil
    }
  }

  private let state: Mutex<State>

  init(_ configuration: Configuration, settings: HTTPTransport.Settings) {
    let line = Snapshot(configuration, transport: HTTPTransport(settings))
    state = Mutex(State(settings: settings, line: line))
  }

  /// The current snapshot. Reading one setting does not copy the configuration.
  var line: Snapshot { state.withLock { $0.line } }

  var configuration: Configuration { line.configuration }

  /// Runs `body` with the current snapshot, whose transport stays open until `body` returns.
  func use<Value: Sendable>(_ body: @Sendable (Snapshot) async throws -> Value) async throws -> Value {
    let line = state.withLock { $0.begin() }
    do {
      let value = try await body(line)
      await close(state.withLock { $0.end(line.transport) })
      return value
    } catch {
      await close(state.withLock { $0.end(line.transport) })
      throw error
    }
  }

  /// Takes another client certificate: new connections present it (T15.2). A reload since then has read the files
  /// itself, and nothing changes.
  /// - Parameter configuration: The one whose files were read.
  func renew(_ identity: ClientIdentity?, of configuration: Snapshot) async {
    await close(
      state.withLock { state in
        guard state.line === configuration, state.settings.identity != identity else { return nil }
        var settings = state.settings
        settings.identity = identity
        return state.replace(configuration.configuration, settings: settings)
      })
  }

  /// End of the client certificate that is presented now; nil without one.
  var certificateEnd: Date? { state.withLock { $0.settings.identity?.certificate.notAfter } }

  func replace(_ configuration: Configuration, settings: HTTPTransport.Settings) async {
    await close(state.withLock { $0.replace(configuration, settings: settings) })
  }

  /// Closes all transports. No request may follow.
  func close() async {
    let transports = state.withLock { state in
      defer { state.retired = [:] }
      return Array(state.retired.values) + [state.line.transport]
    }
    for transport in transports { await close(transport) }
  }

  private func close(_ transport: HTTPTransport?) async {
    await transport?.shutdown()
  }
}
