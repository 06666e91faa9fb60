import FoundationEssentials
import RosterCore
import Synchronization

/// An upstream in memory: lists by path, in pages of two, with whatever validators and faults a test wants; and what it
/// was asked for.
final class Shelf: Sendable {
  struct State: Sendable {
    /// By path; each record's JSON by its key. "hidden PATH" has records that only by_key finds, and "answers PATH"
    /// replaces all that by_key finds.
    var lists: [String: [(key: Int, record: String)]] = [:]
    var hasValidators = true
    /// Only the first page of a list has its totals.
    var isCountedOnce = false
    /// The ETag of every page, whatever the page contains; nil if each page has its own ETag.
    var fixedTag: String?
    /// The Last-Modified of every page, whatever it has; nil if pages have none.
    var fixedTime: String?
    /// Answered with this status, by what their address begins with.
    var failing: [String: Int] = [:]
    /// The same, of requests without a condition.
    var failingUnconditional: [String: Int] = [:]
    /// The first failure is the last one.
    var failsOnce = false
    /// Answers requests instead of the lists; nil if it does not know the request.
    var answers: (@Sendable (Request) -> Response?)?
    /// The time by rosterd's clock.
    var now = Date(timeIntervalSince1970: 1_750_000_000)
  }

  private let state: Mutex<State>
  private let seen = Mutex<[(target: String, status: Int)]>([])
  static let baseURL = "http://shelf.test"
  /// The date of an answer, by the clock of upstream.
  static let date = Request.Header("Date", "Sun, 15 Jun 2025 15:06:40 GMT")

  static func json(_ text: String) -> Response { Response(status: 200, headers: [date], body: Array(text.utf8)) }

  init(_ lists: [String: [(key: Int, record: String)]]) { state = Mutex(State(lists: lists)) }

  func update(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

  /// Answers requests instead of the lists, by the request and its target.
  func answer(with answer: @escaping @Sendable (_ request: Request, _ target: String) -> Response?) {
    update { $0.answers = { answer($0, String($0.url.dropFirst(Self.baseURL.count))) } }
  }

  var now: Date { state.withLock { $0.now } }

  /// Path and query of all requests since the last look, and how they were answered.
  func asked() -> [(target: String, status: Int)] {
    seen.withLock { seen in
      defer { seen = [] }
      return seen
    }
  }

  @Sendable func send(_ request: Request) async throws -> Response {
    let target = String(request.url.dropFirst(Self.baseURL.count))
    let own = state.withLock { $0.answers }?(request)
    let response = own ?? state.withLock { Self.answer(target, request: request, state: &$0) }
    seen.withLock { $0.append((target, response.status)) }
    return response
  }

  private static func answer(_ target: String, request: Request, state: inout State) -> Response {
    let isConditional = request.headers.contains { $0.name.hasPrefix("If-") }
    let failing = isConditional ? state.failing : state.failing.merging(state.failingUnconditional) { $1 }
    if let status = failing.first(where: { target.hasPrefix($0.key) })?.value {
      if state.failsOnce { state.failing = [:] }
      return Response(status: status)
    }
    let parts = target.split(separator: "?")
    let path = String(parts[0])
    if let list = state.lists[path] {
      let page = parts.dropFirst().first.flatMap { Int($0.split(separator: "=").last ?? "") } ?? 1
      return self.page(page, records: list.map(\.record), request: request, state: state)
    }
    return byKey(path, state: state)
  }

  private static func page(_ number: Int, records: [String], request: Request, state: State) -> Response {
    let pages = max(1, (records.count + 1) / 2)
    let shown = records.dropFirst((number - 1) * 2).prefix(2).joined(separator: ",")
    let totals = #""info":{"count":\#(records.count),"pages":\#(pages)},"#
    let next = number < pages ? "\(number + 1)" : "null"
    let address = number < pages ? "\"?page=\(next)\"" : "null"
    let leads = #""next":\#(next),"on":{"page":\#(next)},"address":\#(address)"#
    let isCounted = number == 1 || !state.isCountedOnce
    let body = #"{\#(isCounted ? totals : "")\#(leads),"results":[\#(shown)]}"#
    let own = "\"\(records.count)-\(body.utf8.reduce(5381) { $0 &* 33 &+ Int($1) })\""
    let validator =
      state.fixedTime.map { (header: "Last-Modified", condition: "If-Modified-Since", value: $0) }
      ?? (header: "ETag", condition: "If-None-Match", value: state.fixedTag.map { "\"\($0)\"" } ?? own)
    let isKnown =
      state.hasValidators
      && request.headers.contains { $0.name == validator.condition && $0.value == validator.value }
    let headers = state.hasValidators ? [Shelf.date, Request.Header(validator.header, validator.value)] : []
    return Response(status: isKnown ? 304 : 200, headers: headers, body: isKnown ? [] : Array(body.utf8))
  }

  /// `/character/1,2`: the record, or a list of the requested records that exist.
  private static func byKey(_ path: String, state: State) -> Response {
    let parts = path.split(separator: "/")
    guard parts.count == 2, let list = state.lists["/\(parts[0])"] else { return Response(status: 404) }
    let keys = parts[1].split(separator: ",").compactMap { Int($0) }
    let answers = state.lists["answers /\(parts[0])"] ?? list + (state.lists["hidden /\(parts[0])"] ?? [])
    let found = answers.filter { keys.contains($0.key) }.map(\.record)
    if keys.count > 1 { return Response(json: "[\(found.joined(separator: ","))]") }
    return found.first.map { Response(json: $0) } ?? Response(status: 404)
  }
}

extension Response {
  init(json: String, headers: [Request.Header] = []) {
    self.init(status: 200, headers: headers, body: Array(json.utf8))
  }

  /// An answer with this ETag, if there is one. A request that has the ETag already is answered with 304.
  init(json: String, headers: [Request.Header] = [], tag: String?, to request: Request) {
    let isKnown = tag != nil && request.headers.contains { $0.name == "If-None-Match" && $0.value == tag }
    self.init(
      status: isKnown ? 304 : 200, headers: headers + (tag.map { [.init("ETag", $0)] } ?? []),
      body: isKnown ? [] : Array(json.utf8))
  }
}

/// The place that these names lead to.
func at(_ names: String...) -> JSONPointer { JSONPointer(segments: names) }
