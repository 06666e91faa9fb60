import FoundationEssentials
import Logging
import RosterAuth
import RosterCore
import RosterDecode
import RosterFetch
import RosterSync
import RosterTestSupport
import Synchronization

@testable import RosterCache

/// Whole syncs of any resources, from a shelf into a real cache.
struct SyncBench {
  let shelf: Shelf
  let workspace: Workspace
  var maxRemoval = 20
  /// Requests that the budget has room for.
  var mostRequests = Int.max
  /// `limit.budget`, which is counted across syncs.
  var budget: RequestBudget?
  /// Further attempts of a request. Each wait then lets time pass.
  var maxRetries = 0
  /// A 401 is a refused credential, as in rosterd.
  var refusesTokens = false
  /// Called with every sign of life of the cache.
  var tick: @Sendable () -> Void = {}
  var onPhase: @Sendable (DaemonStatus.Current.Phase) -> Void = { _ in }
  private let clock: WallClock
  private let log = Log()
  private let events = Events()
  private let naps = Naps()

  var path: String { workspace.path("roster.db") }

  init(_ lists: [String: [(key: Int, record: String)]]) throws {
    shelf = Shelf(lists)
    workspace = Workspace()
    clock = WallClock(now: { [shelf] in shelf.now }, sleep: { _ in })
  }

  /// Answers by target, where a number is a status, and the last of several answers counts.
  func serve(
    _ answers: [String: String]..., otherwise: Int = 404, headers: [Request.Header] = [Shelf.date], tag: String? = nil
  ) {
    let answers = answers.reduce(into: [:]) { all, some in all.merge(some) { $1 } }
    shelf.answer { request, target in
      let answer = answers[target] ?? "\(otherwise)"
      return Int(answer).map { Response(status: $0) }
        ?? Response(json: answer, headers: headers, tag: tag, to: request)
    }
  }

  /// A bench that answers by target.
  init(answers: [String: String]) throws {
    try self.init([:])
    serve(answers)
  }

  /// The same after a first sync, whose requests are forgotten.
  static func synced(_ resources: [Resource], answers: [String: String]) async throws -> SyncBench {
    let bench = try SyncBench(answers: answers)
    _ = try await bench.sync(resources)
    _ = bench.asked()
    return bench
  }

  /// The longest wait of the last sync, if it may retry.
  var longestNap: Duration { naps.longest }

  /// The events that syncs reported since the last look.
  func reported() -> [Event] { events.take() }

  /// The messages of the log since the last look, each with its level.
  func logged() -> [String] { log.take() }

  /// The targets of all requests since the last look.
  func asked() -> [String] { shelf.asked().map(\.target) }

  /// Progress of the last sync.
  var progress: [DaemonStatus.PulledResource] { events.tally.now.resources }

  /// A start of rosterd, one sync, and its end.
  /// - Parameter seconds: When it starts, after the first one.
  func sync(
    _ resources: [Resource], allowRemoval: Bool = false, isFresh: Bool = false, isDryRun: Bool = false,
    after seconds: Double = 0
  ) async throws -> SyncRecord {
    let date = clock.now() + seconds
    let time = maxRetries == 0 ? nil : PassingTime()
    let clock = WallClock(
      now: { date + (time?.passed.seconds ?? 0) },
      sleep: { if let time { time.pass($0) } else if $0 > Self.longNap { try await Task.sleep(for: $0) } },
      uptime: { .seconds(date.timeIntervalSince1970) + (time?.passed ?? .zero) })
    defer { naps.take(time) }
    let ledger = try budget.map { rule in
      let ledger = BudgetLedger(
        path: workspace.path("budget"), upstream: Shelf.baseURL, clock: clock, logger: Self.quiet)
      try ledger.change(rule)
      return ledger
    }
    let cache = try await Cache.open(
      path: path, upstream: Shelf.baseURL, resources: resources, now: clock.now(), logger: Self.quiet, tick: tick)
    let tokens = TokenKeeper(
      settings: TokenSettings(flow: .none, baseOrigin: Shelf.baseURL, storePath: workspace.path("token.json")),
      credentials: { _ in Credentials() }, send: shelf.send, clock: clock, report: { _ in }, onStatus: { _ in },
      logger: Self.quiet)
    try await tokens.open()
    let plans = try resources.map { try RecordPlan($0) }
    let tally = Tally(resources: resources.map(\.name))
    events.tally = tally
    let gate = RetryAfterGate(clock: clock)
    let links = refusesTokens ? [Interceptor.authorize(tokens, baseURL: Shelf.baseURL)] : []
    let send = Interceptor.chain(links, to: shelf.send)
    let sync = Sync(
      SyncRequest(allowRemoval: allowRemoval, isDryRun: isDryRun, isFresh: isFresh), of: plans, from: Shelf.baseURL,
      into: cache,
      tokens: tokens, gate: gate,
      send: { request in
        tally.update { $0.requested(RequestContext.current.resource) }
        let number = try await ledger?.spend()
        defer { ledger?.ended(number ?? nil, isSent: true) }
        return try await send(request)
      },
      retry: Retry(table: RetryTable(RetryDelays(maxRetries: maxRetries)), gate: gate, clock: clock),
      tally: tally,
      host: Host(
        maxRemoval: maxRemoval, mostRequests: mostRequests, events: events, onPhase: onPhase, ledger: ledger,
        clock: clock),
      clock: clock,
      logger: Logger(label: "test") { [log] _ in log.handler })
    let record = await sync.run()
    await cache.close()
    return record
  }

  func facts(_ resources: [Resource]) async throws -> CacheFacts {
    let cache = try await Cache.open(
      path: path, upstream: Shelf.baseURL, resources: resources, now: clock.now(), logger: Self.quiet)
    let facts = try await cache.facts()
    await cache.close()
    return facts
  }

  /// The first column of a query of the cache.
  func ask(_ query: String) throws -> [String] {
    let database = try Database(path: path, access: .readOnly)
    defer { database.close() }
    return try database.rows(query) { $0.text(0) }
  }

  /// The digest of the cache's pages.
  func digest() throws -> PageDigest {
    let database = try Database(path: path, access: .readOnly)
    defer { database.close() }
    return try database.pageDigest()
  }

  /// The changes that `pending` shows: kind, resource, key, the keys of the ancestors, and the parent that is removed.
  func pending() throws -> [String] {
    var lines: [String] = []
    try CacheReader(path: path).pending().each { record, resource in
      let owner = record.isWithParent ? " with \(resource.parent ?? "")" : ""
      lines.append("\(record.kind.rawValue) \(resource.name) \(record.key) of \(record.of ?? "-")\(owner)")
    }
    return lines.sorted()
  }

  /// Records as `rosterctl list` shows them.
  func list(_ resource: String) throws -> [String] { try CacheReader(path: path).list(resource).records }

  /// The keys of all changes of a resource, as `/v1/changes` has them.
  func keys(of resource: String) throws -> [String?] {
    guard case .page(let page) = try CacheReader(path: path).feed(FeedPosition(), resource: resource, limit: 100) else {
      return []
    }
    return page.changes.map(\.key)
  }

  func history(_ resource: String, key: Int) throws -> [ChangeKind] {
    try CacheReader(path: path).show(resource, key: ["\(key)"]).changes.map(\.kind)
  }

  /// The time that passes in the waits of one sync.
  private final class PassingTime: Sendable {
    private let waits = Mutex<[Duration]>([])

    var passed: Duration { waits.withLock { $0.reduce(.zero, +) } }
    var longest: Duration { waits.withLock { $0.max() } ?? .zero }

    func pass(_ wait: Duration) { waits.withLock { $0.append(wait) } }
  }

  private final class Naps: Sendable {
    private let last = Mutex(Duration.zero)

    var longest: Duration { last.withLock(\.self) }

    func take(_ time: PassingTime?) { last.withLock { $0 = time?.longest ?? .zero } }
  }

  private final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    var handler: Handler { Handler(log: self) }

    func take() -> [String] {
      lines.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }

    struct Handler: LogHandler {
      let log: Log
      var metadata: Logger.Metadata = [:]
      var logLevel = Logger.Level.notice

      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }

      func log(event: LogEvent) { log.lines.withLock { $0.append("\(event.level) \(event.message)") } }
    }
  }

  private final class Events: Sendable {
    private let all = Mutex<[Event]>([])
    private let latest = Mutex(Tally())

    /// The counts of the last sync.
    var tally: Tally {
      get { latest.withLock { $0 } }
      set { latest.withLock { $0 = newValue } }
    }

    func add(_ event: Event) { all.withLock { $0.append(event) } }

    func take() -> [Event] {
      all.withLock { all in
        defer { all = [] }
        return all
      }
    }
  }

  private struct Host: SyncHost {
    let maxRemoval: Int
    let mostRequests: Int
    let events: Events
    let onPhase: @Sendable (DaemonStatus.Current.Phase) -> Void
    let ledger: BudgetLedger?
    let clock: WallClock

    var settings: SyncSettings {
      SyncSettings(
        concurrency: 4, maxPages: 100_000, maxRemoval: maxRemoval, history: .seconds(90 * 86_400),
        maxRetryAfter: .seconds(120))
    }

    func onTransport<Value: Sendable>(
      _ work: nonisolated(nonsending) @Sendable () async throws -> Value
    ) async throws -> Value {
      try await work()
    }

    func permits(requests: Int) -> Bool { requests <= mostRequests }
    var pausedUntil: Date? { ledger?.wait(for: nil).map { clock.now() + $0.seconds } }
    func renewCacheLock() {}
    func renewTokenStoreLock() {}
    func began(_ record: SyncRecord, tally: Tally, isFresh: Bool) {}
    func entered(_ phase: DaemonStatus.Current.Phase) { onPhase(phase) }
    func tell(_ event: Event) { events.add(event) }
    func ended(_ record: SyncRecord) {}
  }

  /// A longer wait ends only when it is cancelled, like that for a long Retry-After.
  private static let longNap = Duration.seconds(600)

  private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}

/// Records of one shape, by their keys.
func records(_ keys: some Sequence<Int>, mark: String = "") -> [(key: Int, record: String)] {
  keys.map { ($0, #"{"id":\#($0),"name":"name \#($0)\#(mark)"}"#) }
}

/// A resource of them.
func listed(
  _ name: String, path: String? = nil, removal: Resource.Removal = .twice,
  where conditions: [Resource.Condition] = []
) -> Resource {
  Resource(
    name: name, path: path ?? "/\(name)", records: at("results"), table: "\(name)s",
    conditions: conditions, search: ["name"], byKey: removal == .ask ? "/\(name)/{keys}" : nil, removal: removal,
    pages: .init(.number(last: .body(at("info", "pages"))), count: .body(at("info", "count"))),
    columns: [.init("id", at: at("id"), .integer), .init("name", at: at("name"))])
}
