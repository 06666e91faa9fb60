import FoundationEssentials
import RosterCore
import RosterDecode
import RosterSimulator

/// Answers the requests that drive the simulator: GET / for its state, POST / with a `Change`.
struct AdminPort: Sendable {
  let upstream: Simulator

  func answer(_ request: Request) -> Response {
    do {
      if request.method == .post { apply(try Change(request.body)) }
      return Response(status: 200, body: Array(try JSONEncoder().encode(State(upstream))))
    } catch {
      return Response(status: 400, body: Array("\(error)\n".utf8))
    }
  }

  private func apply(_ change: Change) {
    upstream.configure { change.apply(to: &$0) }
    if let pages = change.hold { upstream.hold(pages.match) }
    if let pass = change.pass { upstream.pass(pass.pages.match, count: pass.count) }
    if change.release == true { upstream.release() }
  }
}

/// The changes that a test makes. A missing member changes nothing.
struct Change: Codable, Sendable {
  struct List: Codable, Sendable {
    var record: String?
    var ids: [Int]?
    var replaced: [Int: String]?
    var pageSize: Int?
    var version: Int?
    var moves: Bool?
    var shifts: Bool?
  }

  /// An answer instead of the real one.
  struct Rule: Codable, Sendable {
    /// The pages that it applies to; nil for the token URL.
    var pages: Pages?
    /// nil for each request.
    var times: Int?
    var status: Int
    var body: String?
  }

  /// Pages of all lists, from 1.
  struct Pages: Codable, Sendable {
    var first: Int
    var last: Int?

    var match: Match { .pages(first...(last ?? .max)) }
  }

  struct Pass: Codable, Sendable {
    var pages: Pages
    var count: Int
  }

  /// A member that a change does not have.
  struct Unknown: Error {
    var change: String
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
  /// A number of pages of an equal `hold` that are sent nevertheless.
  var pass: Pass?
  /// Sends all pages that wait, and holds no further ones.
  var release: Bool?

  /// Throws DecodingError or Unknown.
  init(_ json: [UInt8]) throws {
    self = try JSONDecoder().decode(Change.self, from: Data(json))
    let known = try JSONValue(json: Array(JSONEncoder().encode(self)))
    guard try JSONValue(json: json).names == known.names else {
      throw Unknown(change: String(decoding: json, as: UTF8.self))
    }
  }

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

extension JSONValue {
  /// Names of all members that are not null, at any depth.
  fileprivate var names: [String] {
    let names: [String] =
      switch self {
      case .list(let elements): elements.flatMap(\.names)
      case .object(let members):
        members.filter { if case .null = $0.value { false } else { true } }.flatMap { [$0.name] + $0.value.names }
      default: []
      }
    return names.sorted()
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
