import FoundationEssentials
import Glibc
import Logging
import RosterCore
import RosterTestSupport
import Synchronization

@testable import RosterAuth

/// Records values and waits for them, so that a test resumes with the value that it needs.
final class Recorder<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var watchers: [(isMet: @Sendable ([Element]) -> Bool, wake: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  var all: [Element] { state.withLock { $0.elements } }

  func record(_ element: Element) {
    let met = state.withLock { state in
      state.elements.append(element)
      let elements = state.elements
      let met = state.watchers.filter { $0.isMet(elements) }
      state.watchers.removeAll { $0.isMet(elements) }
      return met
    }
    for watcher in met { watcher.wake.resume() }
  }

  func wait(until isMet: @escaping @Sendable ([Element]) -> Bool) async {
    await withCheckedContinuation { wake in
      let isMetNow = state.withLock { state in
        if isMet(state.elements) { return true }
        state.watchers.append((isMet, wake))
        return false
      }
      if isMetNow { wake.resume() }
    }
  }
}

extension Recorder where Element == Event {
  func count(_ name: Event.Name) -> Int { all.count { $0.name == name } }

  func wait(for name: Event.Name, _ count: Int = 1) async {
    await wait { $0.count { $0.name == name } >= count }
  }
}

/// The token endpoint: keeps what it is sent, and answers when and what the test says.
final class TokenEndpoint: Sendable {
  private struct State {
    var open: [CheckedContinuation<Response, any Error>] = []
    var answers: [Result<Response, any Error>] = []
  }

  let requests = Recorder<Request>()
  private let state = Mutex(State())
  private let cancelled = Atomic(false)

  var sawCancellation: Bool { cancelled.load(ordering: .relaxed) }

  func send(_ request: Request) async throws -> Response {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let answer = state.withLock { state -> Result<Response, any Error>? in
          guard state.answers.isEmpty else { return state.answers.removeFirst() }
          state.open.append(continuation)
          return nil
        }
        requests.record(request)
        if let answer { continuation.resume(with: answer) }
      }
    } onCancel: {
      cancelled.store(true, ordering: .relaxed)
    }
  }

  /// Answers the request that waits, or the next one.
  func answer(_ result: Result<Response, any Error>) {
    let open = state.withLock { state -> CheckedContinuation<Response, any Error>? in
      guard state.open.isEmpty else { return state.open.removeFirst() }
      state.answers.append(result)
      return nil
    }
    open?.resume(with: result)
  }

  func answer(_ status: Int, body: String = "", headers: [Request.Header] = []) {
    answer(.success(Response(status: status, headers: headers, body: Array(body.utf8))))
  }

  func grant(_ access: String, refresh: String? = nil, expiresIn: Int? = nil) {
    let fields =
      [#""access_token":"\#(access)""#]
      + (refresh.map { [#""refresh_token":"\#($0)""#] } ?? []) + (expiresIn.map { [#""expires_in":\#($0)"#] } ?? [])
    answer(200, body: "{\(fields.joined(separator: ","))}")
  }

  /// A statement about the grant, which ends the session.
  func refuse(_ status: Int = 400) { answer(status, body: #"{"error":"invalid_grant"}"#) }

  /// No connection, so that the request never reached upstream.
  func refuseConnection() {
    var fault = Failure(.unreachable, cause: "refused", reason: .connection)
    fault.exchange?.isUnsent = true
    answer(.failure(fault))
  }

  func fail(_ reason: Failure.Reason) {
    answer(.failure(Failure(.unreachable, cause: "test", reason: reason)))
  }

  func arrived(_ count: Int) async { await requests.wait { $0.count >= count } }
}

/// A keeper with everything around it: real store, scripted endpoint, manual clock.
final class Bench: Sendable {
  let workspace: Workspace
  let endpoint = TokenEndpoint()
  let clock = ManualClock()
  let events = Recorder<Event>()
  let statuses = Recorder<TokenStatus>()
  let settings: TokenSettings
  let keeper: TokenKeeper

  init(
    _ flow: Flow = .oauth2Refresh, credentials: Credentials = Credentials(refreshToken: Secret("r0")),
    workspace: Workspace? = nil, renewsBetweenSyncs: Bool = false, isDryRun: Bool = false,
    lines: Recorder<String> = Recorder(),
    change: (inout TokenSettings) -> Void = { _ in }
  ) throws {
    let workspace = workspace ?? Workspace()
    self.workspace = workspace
    var settings = TokenSettings.sample(flow)
    settings.storePath = workspace.path("state/token.json")
    change(&settings)
    self.settings = settings
    let endpoint = endpoint
    let events = events
    let statuses = statuses
    let box = CredentialBox(credentials)
    self.box = box
    keeper = TokenKeeper(
      settings: settings, renewsBetweenSyncs: renewsBetweenSyncs, isDryRun: isDryRun,
      credentials: { _ in box.value.withLock { $0 } },
      send: { try await endpoint.send($0) },
      clock: clock.wallClock, report: { events.record($0) }, onStatus: { statuses.record($0) },
      logger: Logger(label: "test") { _ in LineHandler(lines: lines) }, random: { 0 })
  }

  /// The same, after a sync has begun.
  func inSync(at seconds: Double = 0) async throws -> Bench {
    clock.set(by: seconds)
    try await keeper.syncBegins()
    return self
  }

  /// A bench whose current token is generation 2, stored, with that life.
  static func settled(life: Int? = nil) async throws -> Bench {
    let bench = try await Bench().inSync()
    bench.endpoint.grant("a1", refresh: "r1", expiresIn: life)
    _ = try await bench.keeper.current()
    return bench
  }

  private let box: CredentialBox

  func setCredentials(_ credentials: Credentials) { box.value.withLock { $0 = credentials } }

  /// The document on disk; nil if there is no file.
  var stored: StoredSession? {
    FileManager.default.contents(atPath: settings.storePath).flatMap {
      try? JSONDecoder().decode(StoredSession.self, from: $0)
    }
  }

  var status: TokenStatus? { statuses.all.last }

  /// Starts requests that need a token each.
  func requests(_ count: Int) -> [Task<Token?, any Error>] {
    let keeper = keeper
    return (0..<count).map { _ in Task { try await keeper.current() } }
  }

  /// One whose first refresh is under way, for the request that waits for it.
  static func refreshing(lines: Recorder<String> = Recorder()) async throws -> (Bench, Task<Token?, any Error>) {
    let bench = try await Bench(lines: lines).inSync()
    let request = bench.requests(1)[0]
    await bench.endpoint.arrived(1)
    return (bench, request)
  }

  func reject(_ generation: Int?, times count: Int) -> [Task<Token?, any Error>] {
    let keeper = keeper
    return (0..<count).map { page in
      Task {
        try await RequestContext.$current.withValue(.init(page: .init(page, of: "character"))) {
          try await keeper.rejected(generation).token
        }
      }
    }
  }
}

final class CredentialBox: Sendable {
  let value: Mutex<Credentials>
  init(_ credentials: Credentials) { value = Mutex(credentials) }
}

extension TokenSettings {
  static func sample(_ flow: Flow) -> TokenSettings {
    var settings = TokenSettings(
      flow: flow, tokenURL: "https://auth.test/token", baseOrigin: "https://api.test:443",
      tokenOrigin: "https://auth.test:443", storePath: "/nonexistent/token.json")
    settings.credentialsDirectory = "/etc/rosterd/credentials"
    settings.retry = RetryDelays(jitter: .zero)
    settings.exchange = flow == .exchange ? .simplejwt : nil
    return settings
  }
}

extension TokenExchange {
  /// Django's simplejwt.
  static let simplejwt = TokenExchange(
    login: Step(
      url: "https://auth.test/login",
      body: .object([.init("username", .text("{username}")), .init("password", .text("{password}"))])),
    refresh: Step(url: "https://auth.test/token", body: .object([.init("refresh", .text("{refresh_token}"))])),
    answer: Answer(access: .member(JSONPointer(segments: ["access"])), refresh: JSONPointer(segments: ["refresh"])))
}

extension TokenKeeper {
  /// The token that a request is sent again with after a 401. Throws `BlamedList` if its answer counts.
  func rejected(_ generation: Int?, isFresh: Bool = false) async throws -> (token: Token?, isFresh: Bool) {
    var refusal = TokenRefusal(generation: generation, list: "items")
    refusal.isFresh = isFresh
    while true {
      switch try await rejected(refusal) {
      case .resend(let token, let isFresh, trial: nil): return (token, isFresh)
      case .resend(_, _, let trial?), .verify(_, let trial): refusal.trial = trial
      case .accept: throw BlamedList()
      }
    }
  }

  func accepted(_ generation: Int?) { accepted(generation, by: Request(.get, "https://api.test/items")) }
}

struct BlamedList: Error {}

/// The `Failure` that a call throws.
func failure<T: Sendable>(of work: () async throws -> T) async -> Failure? {
  do {
    _ = try await work()
    return nil
  } catch { return error as? Failure }
}

/// An unsigned JWT with these claims.
func jwt(_ claims: String) -> String {
  let payload = Data(claims.utf8).base64EncodedString()
  return "e30." + payload.filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 } + ".sig"
}

/// Records what would be logged.
struct LineHandler: LogHandler {
  let lines: Recorder<String>
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .trace

  init(lines: Recorder<String>) { self.lines = lines }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.record("\(event.message) \(event.metadata ?? [:])") }
}

extension Bench {
  /// Replaces the store's folder by a file, so that not even root can write the store.
  func breakStore() throws {
    let state = workspace.path("state")
    try FileManager.default.removeItem(atPath: state)
    try Data().write(to: URL(filePath: state))
  }

  func mendStore() throws {
    try FileManager.default.removeItem(atPath: workspace.path("state"))
  }
}
