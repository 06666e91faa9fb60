import Foundation
import RosterCore
import RosterDecode
import RosterTestSupport
import Synchronization

/// An upstream with its own clock, whose records change, become visible late, close and disappear. It notes its
/// answers.
final class ChangingUpstream: Sendable {
  struct Version: Equatable {
    var name: String
    /// What `updated` says: the time of the change, cut to the grain.
    var stamp: Int
    /// When queries see it.
    var visible: Double
    var isClosed = false
    var isDeleted = false
    /// True if a pull that began after it became visible must have it.
    var isGuaranteed = true
  }

  /// An answer with a page of a list.
  struct Answer {
    /// Upstream's time.
    var time: Double
    /// The time by rosterd's clock.
    var receivedAt: Date
    /// Number of the sync that asked for it.
    var sync: Int
    /// Number of pages of the list.
    var pages: Int
    var records: [(id: Int, version: Version)]
  }

  /// The answers since the last publication.
  struct Log {
    /// The answers by start of the pull (nil if it is whole) and by page. The latest answer is the last.
    var pages: [Int?: [Int: [Answer]]] = [:]
    /// The start of the latest incremental pull, in seconds since 1970.
    var start: Int?
    /// Answers to the question for one record in this sync; nil if upstream has no such record. A failed question has
    /// no entry.
    var singles: [Int: Version?] = [:]
    var hasFailedSingle = false
    /// Number and time of the current sync.
    var sync = 0
    var clock = Date.distantPast
  }

  private struct State {
    var dice: SeededDice
    var time = 1_790_000_000.0
    var records: [Int: [Version]] = [:]
    var nextID = 1
    var counter = 0
    var isQuiet = true
    var requests = 0
    var cutAt: Int?
    var wasCut = false
    var onCut: (@Sendable () -> Void)?
    var log = Log()
  }

  let description: String
  let hasTags: Bool
  /// True if the pages have numbers, false if each has the address of the next one.
  let hasNumbers: Bool
  private let grain: Int
  private let lateness: Double
  private let overlap = 60
  private let isExclusive: Bool
  /// True if stamps are in the future now and then.
  private let isFast: Bool
  /// Seconds by which `Date` is wrong, as if it did not bound the mark.
  private let dateAhead: Double
  /// Seconds that a request takes at most.
  private let slowest: Double
  private let state: Mutex<State>

  init(seed: UInt64, dateAhead: Double, isBusy: Bool, _ dice: inout SeededDice) {
    self.dateAhead = dateAhead
    slowest = isBusy ? 100 : [1, 200].randomElement(using: &dice) ?? 1
    grain = [1, 1, 5, 20].randomElement(using: &dice) ?? 1
    lateness = isBusy ? 40 : [0, 0, 10, 200].randomElement(using: &dice) ?? 0
    isExclusive = Bool.random(using: &dice)
    hasTags = Bool.random(using: &dice)
    hasNumbers = Bool.random(using: &dice)
    isFast = Int.random(in: 0..<4, using: &dice) == 0
    description = "grain \(grain), late \(lateness), exclusive \(isExclusive), tags \(hasTags), numbers \(hasNumbers)"
    state = Mutex(State(dice: SeededDice(seed: seed &+ 1000)))
    live(seconds: 500, changes: 10)
  }

  func resource(overlap: Int) -> Resource {
    func at(_ names: String...) -> JSONPointer { JSONPointer(segments: names) }
    var resource = Resource(
      name: "item", path: "/items", records: at("results"), table: "items",
      conditions: [.init(at("state"), .equal(.text("open")))], byKey: "/items/{key}", removal: .ask,
      pages: .init(hasNumbers ? .number(last: .body(at("pages"))) : .next(at: .body(at("next")))),
      columns: [.init("id", at: at("id"), .integer), .init("name", at: at("name"))])
    resource.since = Since(
      at: at("updated"), param: .query("since"), overlap: .time(.seconds(overlap)), wholeEvery: .seconds(7200),
      listing: resource.listing)
    return resource
  }

  // MARK: Its life

  var now: Date { Date(timeIntervalSince1970: state.withLock { $0.time }) }

  /// Time passes, and records change now and then.
  func live(seconds: Double, changes: Int) {
    state.withLock { state in
      let known = state.counter
      for _ in 0..<changes {
        change(&state, canDelete: known > 0)
        state.time += seconds / Double(changes + 1)
      }
      state.time += seconds / Double(changes + 1)
    }
  }

  private func change(_ state: inout State, canDelete: Bool) {
    state.counter += 1
    state.time += Double.random(in: 0...8, using: &state.dice)
    let known = state.records.filter { $0.value.last?.isDeleted == false }.keys.sorted()
    let isNew = known.isEmpty || Int.random(in: 0..<3, using: &state.dice) == 0
    var id = state.nextID
    if isNew { state.nextID += 1 } else { id = known.randomElement(using: &state.dice) ?? id }
    let late = lateness > 0 && Bool.random(using: &state.dice) ? Double.random(in: 0...lateness, using: &state.dice) : 0
    var version = Version(
      name: "v\(state.counter)", stamp: Int(state.time) / grain * grain,
      visible: max(state.time + late, state.records[id]?.last?.visible ?? 0))
    if isFast, Int.random(in: 0..<6, using: &state.dice) == 0 { version.stamp += 10_000_000 }
    version.isGuaranteed = version.visible - Double(version.stamp) + Double(grain) < Double(overlap)
    version.isClosed = Int.random(in: 0..<6, using: &state.dice) == 0
    if canDelete, !isNew, Int.random(in: 0..<6, using: &state.dice) == 0 { version.isDeleted = true }
    state.records[id, default: []].append(version)
  }

  // MARK: What an observer knows

  /// The records that queries see, at a time or now.
  func visible(at time: Double? = nil) -> [Int: Version] { state.withLock { visible($0, at: time) } }

  private func visible(_ state: State, at time: Double? = nil) -> [Int: Version] {
    state.records.compactMapValues { versions in versions.last { $0.visible <= time ?? state.time } }.filter {
      !$0.value.isDeleted
    }
  }

  /// The visible records that have not changed since, and will not change later.
  func settled(since time: Double) -> [Int: Version] {
    state.withLock { state in visible(state, at: time).filter { state.records[$0.key]?.last == $0.value } }
  }

  func isListed(_ version: Version, from start: Int?) -> Bool {
    start.map { isExclusive ? version.stamp > $0 : version.stamp >= $0 } ?? true
  }

  /// `Date` of an answer at that time.
  func date(at time: Double) -> Int { Int(time + dateAhead) }

  var log: Log { state.withLock(\.log) }

  func forgetAnswers() {
    state.withLock { state in (state.log.pages, state.log.start) = ([:], nil) }
  }

  // MARK: Answers

  /// A sync begins at that time by rosterd's clock.
  /// - Parameter request: The first request that fails, as do all after it.
  func begin(isQuiet: Bool, at request: Int?, clock: Date, onCut: @escaping @Sendable () -> Void) {
    state.withLock { state in
      (state.isQuiet, state.onCut, state.cutAt) = (isQuiet, onCut, request)
      (state.requests, state.wasCut) = (0, false)
      (state.log.sync, state.log.clock) = (state.log.sync + 1, clock)
      (state.log.singles, state.log.hasFailedSingle) = ([:], false)
    }
  }

  /// True if requests of this sync failed.
  var wasCut: Bool { state.withLock(\.wasCut) }

  func answer(_ request: Request) -> Response {
    state.withLock { state in
      state.requests += 1
      let target = String(request.url.dropFirst(Shelf.baseURL.count))
      let parts = target.split(separator: "?")
      let isList = parts[0] == "/items"
      if state.requests == state.cutAt {
        state.onCut?()
        state.wasCut = true
      }
      if state.wasCut {
        if !isList { state.log.hasFailedSingle = true }
        return Response(status: 503)
      }
      state.time += Double.random(in: 1...max(1.1, slowest), using: &state.dice)
      if !state.isQuiet, Int.random(in: 0..<3, using: &state.dice) == 0 { change(&state, canDelete: false) }
      return isList
        ? page(parts.count > 1 ? String(parts[1]) : "", request: request, state: &state)
        : single(String(parts[0]), state: &state)
    }
  }

  private func single(_ path: String, state: inout State) -> Response {
    let id = Int(path.split(separator: "/").last ?? "") ?? 0
    let version = visible(state)[id]
    state.log.singles[id] = .some(version)
    guard let version else { return Response(status: 404) }
    return Response(json: Self.json(id, version: version))
  }

  private static func json(_ id: Int, version: Version) -> String {
    let stamp = Date(timeIntervalSince1970: Double(version.stamp)).formatted(Date.ISO8601FormatStyle())
    return
      #"{"id":\#(id),"name":"\#(version.name)","state":"\#(version.isClosed ? "closed" : "open")","updated":"\#(stamp)"}"#
  }

  private func page(_ query: String, request: Request, state: inout State) -> Response {
    var parameters: [String: String] = [:]
    for part in query.split(separator: "&") {
      let pair = part.split(separator: "=")
      parameters[String(pair[0])] = pair.dropFirst().first.map { String($0).replacing("%3A", with: ":") }
    }
    let start = parameters["since"].flatMap { Mark($0, form: .rfc3339)?.value }.map { Int($0 / 1_000_000_000) }
    let all = visible(state).filter { isListed($0.value, from: start) }.sorted { $0.key < $1.key }
    let number = Int(parameters["page"] ?? "") ?? 1
    let pages = max(1, (all.count + 2) / 3)
    let records = all.dropFirst((number - 1) * 3).prefix(3)
    note(records.map { ($0.key, $0.value) }, page: number, of: pages, from: start, state: &state)
    let shown = records.map { Self.json($0.key, version: $0.value) }.joined(separator: ",")
    let next =
      number < pages
      ? "\"/items?page=\(number + 1)\(parameters["since"].map { "&since=\($0)" } ?? "")\"" : "null"
    let body = #"{"pages":\#(pages),"next":\#(next),"results":[\#(shown)]}"#
    let tag = "\"\(body.utf8.reduce(5381) { $0 &* 33 &+ Int($1) })\""
    var headers = [Request.Header("Date", Date(timeIntervalSince1970: Double(date(at: state.time))).httpDate)]
    if hasTags { headers.append(Request.Header("ETag", tag)) }
    let isKnown = hasTags && request.headers.contains { $0.name == "If-None-Match" && $0.value == tag }
    return Response(status: isKnown ? 304 : 200, headers: headers, body: isKnown ? [] : Array(body.utf8))
  }

  private func note(
    _ records: [(id: Int, version: Version)], page: Int, of pages: Int, from start: Int?, state: inout State
  ) {
    let answer = Answer(
      time: state.time, receivedAt: state.log.clock, sync: state.log.sync, pages: pages, records: records)
    state.log.pages[start, default: [:]][page, default: []].append(answer)
    if start != nil { state.log.start = start }
  }
}
