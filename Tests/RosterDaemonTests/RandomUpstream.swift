import RosterCore
import RosterTestSupport
import Synchronization

/// A random API: one list per definition, pages in the definition's style, and records that are added, removed, changed
/// and moved, also between two requests. Some answers fail.
final class RandomUpstream: Sendable {
  struct List: Sendable {
    let definition: RandomDefinition
    /// The records in the order of pages by position; other styles use the order of keys.
    var records: [RandomRecord]
  }

  fileprivate struct State {
    var lists: [List]
    var dice: SeededDice
    var requests = 0
    /// Number of the request at which one list changes.
    var changeAt: Int?
    /// The requests that are answered with this status.
    var failing: (requests: ClosedRange<Int>, status: Int)?
    var hasFailed = false
    /// All states of each list that an unpublished pull may have seen.
    var met: [[[RandomRecord]]] = []
  }

  private let state: Mutex<State>

  init(_ definitions: [RandomDefinition], dice: SeededDice) {
    var dice = dice
    let lists = definitions.map { definition in
      List(
        definition: definition,
        records: (1...Int.random(in: 1...16, using: &dice)).map {
          RandomRecord(id: $0 * 3, isOpen: dice.happens(0.6))
        })
    }
    state = Mutex(State(lists: lists, dice: dice))
  }

  // MARK: What happens to it

  /// Makes any number of changes between pulls.
  func change(times: Int) {
    state.withLock { state in for _ in 0..<times { state.change() } }
  }

  /// Begins the next sync. Its events are counted from its first request.
  func begin(changeAt: Int?, failing: (requests: ClosedRange<Int>, status: Int)?) {
    state.withLock { state in
      state.requests = 0
      (state.changeAt, state.failing, state.hasFailed) = (changeAt, failing, false)
      if state.met.isEmpty { state.met = state.lists.map { [$0.records] } }
    }
  }

  /// Returns the states that the published sync may have seen, and forgets them.
  func published() -> [[[RandomRecord]]] {
    state.withLock { state in
      defer { state.met = [] }
      return state.met
    }
  }

  /// The states that the next published sync may have seen.
  var seen: [[[RandomRecord]]] { state.withLock { $0.met } }
  var hasFailed: Bool { state.withLock { $0.hasFailed } }
  var hasChanged: Bool { state.withLock { $0.met.contains { $0.count > 1 } } }

  // MARK: What it answers

  func answer(_ request: Request) -> Response? {
    state.withLock { state in
      state.requests += 1
      if state.requests == state.changeAt, !state.met.contains(where: { $0.count > 1 }) {
        state.changeWhilePulled(request)
      }
      if let failing = state.failing, failing.requests.contains(state.requests) {
        state.hasFailed = true
        return Response(status: failing.status)
      }
      return state.lists.lazy.compactMap { $0.answer(request) }.first
    }
  }
}

extension RandomUpstream.State {
  /// Changes the requested list between this page and the previous one.
  fileprivate mutating func changeWhilePulled(_ request: Request) {
    guard let index = lists.firstIndex(where: { $0.holds(request) }) else { return }
    if dice.happens(0.7) { lists[index].turn(&dice) } else { lists[index].change(&dice) }
    if met[index].last != lists[index].records { met[index].append(lists[index].records) }
  }

  fileprivate mutating func change() {
    let index = Int.random(in: lists.indices, using: &dice)
    lists[index].change(&dice)
  }
}

extension RandomUpstream.List {
  /// Adds, removes, changes or moves one record.
  fileprivate mutating func change(_ dice: inout SeededDice) {
    let kind = records.isEmpty ? 0 : Int.random(in: 0..<5, using: &dice)
    let at = records.isEmpty ? 0 : Int.random(in: records.indices, using: &dice)
    switch kind {
    case 0:
      // A new id, between others or after them.
      let used = Set(records.map(\.id))
      let id = (1...200).filter { !used.contains($0) }.randomElement(using: &dice) ?? 201
      records.insert(RandomRecord(id: id, isOpen: dice.happens(0.6), version: 1), at: at)
    case 1: records.remove(at: at)
    case 2: records[at].version += 1
    case 3:
      records[at].isOpen.toggle()
      records[at].version += 1
    default:
      guard mayMove else { break }
      let record = records.remove(at: at)
      records.insert(record, at: Int.random(in: 0...records.count, using: &dice))
    }
  }

  /// Moves a record across the current page, in one direction or the other. A pull that does not check would lose it.
  fileprivate mutating func turn(_ dice: inout SeededDice) {
    guard mayMove, records.count > 1 else { return change(&dice) }
    if dice.happens(0.5) { records.append(records.removeFirst()) } else { records.insert(records.removeLast(), at: 0) }
  }

  /// A record that `where` skips is counted without its key, so a move in a list with such records is not detected.
  private var mayMove: Bool { definition.isPositional && definition.tables.allSatisfy { $0.state == nil } }

  fileprivate func holds(_ request: Request) -> Bool { request.url.hasPrefix("/api\(definition.path)") }

  fileprivate func answer(_ request: Request) -> Response? {
    let parts = request.url.split(separator: "?", maxSplits: 1)
    guard let path = parts.first, holds(request) else { return nil }
    let rest = path.dropFirst("/api\(definition.path)".count)
    if rest.hasPrefix("/of/") { return byKey(rest.dropFirst("/of/".count)) }
    guard rest.isEmpty, (request.method == .post) == definition.isPost else { return nil }
    let text =
      definition.isPost ? String(decoding: request.body, as: UTF8.self) : parts.dropFirst().first.map(String.init)
    return page(at: Self.parameter(text ?? ""), request)
  }

  /// The value of `at`, in a query or a body.
  private static func parameter(_ text: String) -> String? {
    (text.firstMatch(of: /(^|&)at=([^&]*)/)?.2 ?? text.firstMatch(of: /"at":"?([a-z0-9]+)"?\}/)?.1).map(String.init)
  }

  private func byKey(_ keys: Substring) -> Response {
    let wanted = keys.split(separator: ",").map(String.init)
    let found = records.filter { wanted.contains(key($0)) }.map { $0.json(isText: definition.hasTextKeys) }
    if wanted.count > 1 { return Response(status: 200, body: Array("[\(found.joined(separator: ","))]".utf8)) }
    return found.first.map { Response(status: 200, body: Array($0.utf8)) } ?? Response(status: 404)
  }

  private func key(_ record: RandomRecord) -> String { record.key(isText: definition.hasTextKeys) }

  // MARK: Pages

  private func page(at value: String?, _ request: Request) -> Response {
    if definition.isPositional { return pageByPlace(value, request: request) }
    let ordered = records.sorted { definition.isDescending ? $0.id > $1.id : $0.id < $1.id }
    let size = definition.style == .one ? max(1, ordered.count) : definition.pageSize
    if let value, value.hasSuffix("g") {
      return response([], hasMore: true, next: String(value.dropLast()), request: request)
    }
    let last = value.flatMap { Int($0.hasPrefix("k") ? "\((Int($0.dropFirst()) ?? 0) - 1_000_000)" : $0) }
    let rest = ordered.filter { record in
      last.map { definition.isDescending ? record.id < $0 : record.id > $0 } ?? true
    }
    let shown = Array(rest.prefix(size))
    let hasMore = rest.count > size
    // Some APIs send a cursor on the last page, too, with more = false.
    let leadsOn = hasMore || (definition.tellsMore && definition.style == .cursor && !shown.isEmpty)
    let gap = definition.hasGaps && hasMore ? "g" : ""
    return response(shown, hasMore: hasMore, next: leadsOn ? shown.last.map { key($0) + gap } : nil, request: request)
  }

  private func pageByPlace(_ value: String?, request: Request) -> Response {
    let at = max(0, (value.flatMap { Int($0) } ?? definition.first) - definition.first)
    let start = definition.style == .number ? at * definition.pageSize : at
    if start >= records.count, start > 0, definition.endsIn404 { return Response(status: 404) }
    let shown = Array(records.dropFirst(start).prefix(definition.pageSize))
    return response(shown, hasMore: start + shown.count < records.count, next: nil, request: request)
  }

  private func response(_ shown: [RandomRecord], hasMore: Bool, next: String?, request: Request) -> Response {
    let pages = (records.count + definition.pageSize - 1) / definition.pageSize
    let address = next.map { "\(definition.isAbsolute ? "/api\(definition.path)" : "")?at=\($0)" }
    let led = definition.style == .next ? address : next
    let items = "[\(shown.map { $0.json(isText: definition.hasTextKeys) }.joined(separator: ","))]"
    let count = definition.capsTotal ? min(records.count, 2 * definition.pageSize) : records.count
    var headers = [
      Request.Header("X-count", "\(count)"), Request.Header("X-pages", "\(pages)"),
      Request.Header("X-more", "\(hasMore)"),
    ]
    if let led { headers.append(Request.Header("X-next", led)) }
    if let address { headers.append(Request.Header("Link", "<\(address)>; rel=\"next\"")) }
    var members = ["\"pages\":\(pages)", "\"more\":\(hasMore)"]
    if definition.totals == .body { members.append("\"count\":\(count)") }
    if let led { members.append("\"next\":\"\(led)\"") }
    let body =
      definition.isBare ? items : "{\"meta\":{\(members.joined(separator: ","))},\"data\":{\"items\":\(items)}}"
    return validated(Response(status: 200, headers: headers, body: Array(body.utf8)), request: request)
  }

  private func validated(_ response: Response, request: Request) -> Response {
    guard definition.validators != .none, !definition.isPost else { return response }
    let told = definition.validators == .whole ? response.headers.flatMap { Array("\($0.name)\($0.value)".utf8) } : []
    let mark = (response.body + told).reduce(UInt64(14_695_981_039_346_656_037)) {
      ($0 ^ UInt64($1)) &* 1_099_511_628_211
    }
    var response = response
    response.headers.append(Request.Header("ETag", "\"\(mark)\""))
    let isKnown = request.headers.contains { $0.isNamed("If-None-Match") && $0.value == "\"\(mark)\"" }
    return isKnown ? Response(status: 304, headers: response.headers) : response
  }
}

extension Request.Header {
  fileprivate func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}
