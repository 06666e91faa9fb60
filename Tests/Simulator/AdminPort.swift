import FoundationEssentials
import RosterModel
import RosterSimulator

/// Answers the requests that drive the simulator: GET / for its state, POST / with a `Change`.
struct AdminPort: Sendable {
  let upstream: Simulator

  func answer(_ request: Request) -> Response {
    do {
      if request.method == .post { apply(try JSONDecoder().decode(Change.self, from: Data(request.body))) }
      return Response(status: 200, body: Array(try JSONEncoder().encode(State(upstream))))
    } catch {
      return Response(status: 400, body: Array("\(error)\n".utf8))
    }
  }

  private func apply(_ change: Change) {
    upstream.configure { change.apply(to: &$0) }
    if let pages = change.hold { upstream.hold(pages.match) }
    if let pages = change.pass, let count = change.count { upstream.pass(pages.match, count: count) }
    if change.release == true { upstream.release() }
  }
}

/// The changes that a test makes. A missing member changes nothing.
struct Change: Decodable, Sendable {
  struct List: Decodable, Sendable {
    var record: String?
    var ids: [Int]?
    var replaced: [Int: String]?
    var pageSize: Int?
    var version: Int?
    var moves: Bool?
    var shifts: Bool?
  }

  /// An answer instead of the real one.
  struct Rule: Decodable, Sendable {
    /// The pages that it applies to; nil for the token URL.
    var pages: Pages?
    /// nil for each request.
    var times: Int?
    var status: Int
    var body: String?
  }

  /// Pages of all lists, from 1.
  struct Pages: Decodable, Sendable {
    var first: Int
    var last: Int?

    var match: Match { .pages(first...(last ?? .max)) }
  }

  var lists: [String: List]?
  /// It replaces all rules.
  var rules: [Rule]?
  var tokens: NumberedTokens?
  /// The delay before each answer in seconds.
  var latency: Double?
  var isDated: Bool?
  /// False for pages without an ETag.
  var hasValidators: Bool?
  /// Pages that wait for `pass` or `release` after this change.
  var hold: Pages?
  /// Equal pages, of which `count` are sent.
  var pass: Pages?
  var count: Int?
  /// Sends all pages that wait, and holds no further ones.
  var release: Bool?

  func apply(to scenario: inout Scenario) {
    for (path, change) in lists ?? [:] { change.apply(to: &scenario.lists[path, default: TemplateList()]) }
    if let rules { scenario.rules = rules.map(\.rule) }
    if let tokens { scenario.numberedTokens = tokens }
    if let latency { scenario.latency = .seconds(latency) }
    if let isDated { scenario.isDated = isDated }
    if let hasValidators { scenario.validators = hasValidators ? .etag : .none }
  }
}

extension Change.List {
  func apply(to list: inout TemplateList) {
    if let record { list.record = RecordTemplate(record) }
    list.ids = ids ?? list.ids
    list.replaced = replaced ?? list.replaced
    list.pageSize = pageSize ?? list.pageSize
    list.version = version ?? list.version
    list.moves = moves ?? list.moves
    list.shifts = shifts ?? list.shifts
  }
}

extension Change.Rule {
  var rule: Rule {
    .on(pages?.match ?? .anyToken, times: times, .answer(status: status, body: body ?? #"{"error":"as told"}"#))
  }
}

/// The state that a test reads.
struct State: Encodable {
  /// Versions of the lists.
  var versions: [String: Int]
  var tokens: NumberedTokens?
  var openConnections: Int
  var pageStatuses: [Int: Int]
  var tokenStatuses: [Int: Int]
  var pageBytes: Int

  init(_ upstream: Simulator) {
    let (scenario, counts) = (upstream.scenario, upstream.counts)
    versions = scenario.lists.mapValues(\.version)
    tokens = scenario.numberedTokens
    openConnections = counts.openConnections
    pageStatuses = counts.pageStatuses
    tokenStatuses = counts.tokenStatuses
    pageBytes = counts.pageBytes
  }
}
