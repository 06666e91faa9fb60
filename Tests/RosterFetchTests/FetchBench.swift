import FoundationEssentials
import RosterCore
import RosterDecode
import RosterFetch
import RosterSimulator
import Synchronization
import Testing

/// A clock whose sleeps end at once and are recorded.
final class Naps: Sendable {
  private let state = Mutex((now: Date(), delays: [Double]()))

  var delays: [Double] { state.withLock { $0.delays } }
  var now: Date { state.withLock { $0.now } }

  var clock: WallClock {
    WallClock(
      now: { self.now },
      sleep: { delay in
        self.state.withLock { state in
          state.now += delay.seconds
          state.delays.append(delay.seconds)
        }
      })
  }
}

/// Real connections: the fetcher with its retry, and the interceptors that the retry table concerns.
struct Bench: Sendable {
  let naps = Naps()
  let hold: RetryAfterGate
  let tally = Tally()
  let fetcher: PageFetcher
  let paging: Paging
  let plan: RecordPlan
  private let baseURL: String

  init(
    _ baseURL: String, transport: HTTPTransport, clock: WallClock? = nil, hold: RetryAfterGate = RetryAfterGate(),
    resource: Resource = .character
  ) throws {
    let clock = clock ?? naps.clock
    self.hold = hold
    self.baseURL = baseURL
    paging = Paging(resource, baseURL: baseURL)
    plan = try RecordPlan(resource)
    let table = RetryTable(RetryDelays(jitter: .zero))
    let links = [Interceptor.headers([]), .redirects, .resend, .measure(tally, clock: clock) { _, _, _ in }]
    fetcher = PageFetcher(
      send: Interceptor.chain(links, to: transport.send), retry: Retry(table: table, gate: hold, clock: clock),
      digest: digest, clock: clock, report: { _ in })
  }

  /// Fetches the first page, or a page that it announced.
  func fetch(
    _ number: Int = 1, validator: Validator = Validator(), digest: Int64? = nil,
    facts: ListFacts? = nil, isAnnounced: Bool? = nil,
    isFromKept: Bool = false
  ) async throws -> PageFetcher.Answer {
    let page = number == 1 ? paging.first() : paging.page(number, announcedBy: ListFacts(records: 20))
    let wanted = PageFetcher.PageQuery(
      page: page, isAnnounced: isAnnounced ?? (number > 1), validator: validator, digest: digest,
      facts: facts, isFromKept: isFromKept)
    return try await fetcher.fetch(wanted, of: paging, plans: [plan], for: .init(sync: 1, tally: tally))
  }

  func page(_ number: Int = 1) async throws -> FetchedPage {
    guard case .page(let page) = try await fetch(number) else { throw NoPage() }
    return page
  }

  /// Fetches these keys with one request.
  func fetch(keys: [String]) async throws -> FetchedRecords {
    let asking = try #require(KeyRequests(paging.resource, baseURL: baseURL)?.requests(for: keys).first)
    return try await fetcher.fetch(asking, plan: plan, for: .init(sync: 1, tally: tally))
  }

  func failure(_ number: Int = 1) async -> Failure? {
    await failure { _ = try await fetch(number) }
  }

  func failure(_ body: () async throws -> Void) async -> Failure? {
    do {
      try await body()
      return nil
    } catch { return error as? Failure }
  }
}

struct NoPage: Error {}

let digest = PageDigest(first: 1, second: 2)

func withBench(
  _ rules: [Rule] = [], timeout: Duration = .seconds(30), body: (Simulator, Bench) async throws -> Void
) async throws {
  try await withTransport(Scenario(rules: rules), settings: .init(timeout: timeout)) { upstream, transport in
    try await body(upstream, Bench(upstream.baseURL, transport: transport))
  }
}

/// A bench with an upstream at this address.
func withBench(
  at baseURL: String, timeout: Duration = .seconds(30), resource: Resource = .character,
  _ body: (Bench) async throws -> Void
) async throws {
  let transport = HTTPTransport(.init(timeout: timeout))
  do { try await body(Bench(baseURL, transport: transport, resource: resource)) } catch {
    await transport.shutdown()
    throw error
  }
  await transport.shutdown()
}

func headed(_ status: String, headers: String = "", body: [UInt8] = []) -> RawServer.Answer {
  .init("HTTP/1.1 \(status)\r\n\(headers)\r\n", body: body)
}

extension PageFetcher.Answer {
  /// True if the body was transferred and equal; false after a 304; nil if the page has changed.
  var isUnchanged: Bool? {
    if case .unchanged(_, answered: _, let isTransferred) = self { isTransferred } else { nil }
  }
}
