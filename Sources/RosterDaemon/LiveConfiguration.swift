import FoundationEssentials
import Logging
import RosterAuth
import RosterCore
package import RosterDefinition
import RosterFetch
import RosterStatus
import RosterSync
package import RosterSystemd
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

  /// Takes another client certificate: new connections present it. A reload since then has read the files
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

/// The schedule of a running daemon. A reload changes its settings between two syncs.
final class LiveSchedule: Sendable {
  private struct State {
    var schedule: Schedule
    var damagedAt: Date?
    var last: (outcome: SyncRecord.Outcome, end: SteadyDate, hold: SteadyDate?, random: Double)?
  }

  private let clock: WallClock
  private let state: Mutex<State>

  /// - Parameter damagedAt: The time at which a damaged cache was last moved aside; nil without one.
  init(_ settings: Schedule.Settings, damagedAt: Date? = nil, clock: WallClock) {
    self.clock = clock
    state = Mutex(State(schedule: Schedule(settings, damagedAt: damagedAt), damagedAt: damagedAt))
  }

  /// - Parameter damagedAt: The time at which a damaged cache was last moved aside; nil without one.
  func next(after outcome: SyncRecord.Outcome, damagedAt: Date? = nil, at end: Date, hold: Date?) -> Date {
    let random = Double.random(in: 0..<1)
    let last = (outcome, SteadyDate(end, by: clock), hold.map { SteadyDate($0, by: clock) }, random)
    return state.withLock { state in
      let isCacheLost = damagedAt != nil && damagedAt != state.damagedAt
      (state.last, state.damagedAt) = (last, damagedAt)
      return state.schedule.next(
        after: outcome, isCacheLost: isCacheLost, at: end, hold: hold, random: random)
    }
  }

  /// Returns the start of the next sync under the new settings, by the clock of now; nil if no sync has ended yet.
  func replace(_ settings: Schedule.Settings) -> Date? {
    state.withLock { state in
      state.schedule.settings = settings
      return state.last.map { last in
        state.schedule.due(
          after: last.outcome, at: last.end.date(by: clock), hold: last.hold?.date(by: clock), random: last.random)
      }
    }
  }
}

extension TokenSettings {
  init(_ configuration: Configuration) {
    let auth = configuration.auth
    self.init(
      flow: auth.flow, tokenURL: configuration.resolvedTokenURL ?? "",
      baseOrigin: Origin(url: configuration.upstream.baseURL)?.description ?? "",
      tokenOrigin: configuration.resolvedTokenURL.flatMap { Origin(url: $0) }?.description ?? "",
      storePath: configuration.tokenStoreFile)
    (send, scope, client, parameters, headers) = (auth.send, auth.scope, auth.client, auth.parameters, auth.headers)
    (earlyRefresh, timeout, retry) = (auth.earlyRefresh, auth.timeout, RetryDelays(configuration.retry))
    (syncInterval, retryInterval) = (configuration.sync.interval, configuration.sync.retryInterval)
    credentialsDirectory = auth.credentialsDir
    (exchange, assertion) = (configuration.exchange, auth.jwt.isSet ? auth.jwt : nil)
  }
}

extension RetryDelays {
  init(_ retry: Configuration.Retry) {
    self.init(
      maxRetries: retry.maxRetries, base: retry.baseDelay, max: retry.maxDelay, jitter: retry.jitter,
      maxRetryAfter: retry.maxRetryAfter)
  }
}

extension Configuration {
  /// The file to which `auth.token_store` leads if it is a link. Its lock is in the same folder. A new token
  /// replaces the file, not the link.
  var tokenStoreFile: String { resolved(auth.tokenStore) }
}

// The settings that each part takes from the configuration.

extension Configuration {
  /// Settings of the log.
  package var logSettings: LogSettings { LogSettings(level: log.level, format: log.format) }
}

extension HTTPTransport.Settings {
  /// Throws a Failure (78) if the ca_file has become invalid since it was checked.
  init(_ configuration: Configuration) throws(Failure) {
    let upstream = configuration.upstream
    let identity: ClientIdentity?
    do { identity = try configuration.clientIdentity() } catch { throw error.failure }
    self.init(
      timeout: upstream.timeout, connections: configuration.sync.concurrency,
      roots: try TrustedRoots(upstream.tls), pins: upstream.tls.pins, proxies: configuration.proxies,
      identity: identity)
  }
}

extension TrustedRoots {
  fileprivate init(_ tls: Configuration.TLS) throws(Failure) {
    self = tls.caFile.isEmpty ? .system(SystemRoots(tls.systemRoots)) : .bundle(try CABundle(path: tls.caFile))
  }
}

extension Schedule.Settings {
  init(_ configuration: Configuration) {
    let sync = configuration.sync
    self.init(interval: sync.interval, jitter: sync.jitter, retryInterval: sync.retryInterval)
  }
}
