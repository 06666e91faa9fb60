import Foundation
import RosterJSON
import RosterModel
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterCache

/// Random histories of an upstream whose records are pulled by time.
@Suite("I1 to I11: random histories of an upstream")
struct SinceHistoryTests {
  /// `make soak`: 2,000.
  static let histories = ProcessInfo.processInfo.environment["ROSTER_HISTORIES"].flatMap(UInt64.init) ?? 50

  @Test(
    "I2.1, I3.2, I4.1, I5.2, I10.1, I10.2: no visible change is lost, and a whole pull equals upstream and counts the rest",
    arguments: UInt64(1)...histories)
  func history(seed: UInt64) async throws {
    let lost = try await faults(seed: seed)
    #expect(lost.isEmpty, "history \(seed): \(lost.joined(separator: "; "))")
  }

  @Test("I2.1, I3.1: these histories lose records if the mark may be above Date, or if there is no overlap")
  func sensitive() async throws {
    var (ahead, abrupt) = (0, 0)
    for seed in UInt64(1)...60 {
      if ahead == 0, try await !faults(seed: seed, dateAhead: 1_000_000, isBusy: true).isEmpty { ahead += 1 }
      if abrupt == 0, try await !faults(seed: seed, overlap: 1, isBusy: true).isEmpty { abrupt += 1 }
    }
    #expect(ahead > 0 && abrupt > 0, "\(ahead) and \(abrupt)")
  }

  /// What is wrong after the syncs of a history.
  private func faults(seed: UInt64, overlap: Int = 60, dateAhead: Double = 0, isBusy: Bool = false) async throws
    -> [String]
  {
    var dice = SeededDice(seed: seed)
    let upstream = ChangingUpstream(seed: seed, dateAhead: dateAhead, isBusy: isBusy, &dice)
    let bench = try SyncBench([:])
    bench.shelf.update { $0.answers = { upstream.answer($0) } }
    let resource = upstream.resource(overlap: overlap)
    var faults: [String] = []
    for step in 1...14 {
      let pause = Bool.random(using: &dice) ? 8.0 : 400
      upstream.live(seconds: Double.random(in: 1...pause, using: &dice), changes: Int.random(in: 0...5, using: &dice))
      let isQuiet = Bool.random(using: &dice) && !isBusy
      let killed = isQuiet && Int.random(in: 0..<6, using: &dice) == 0 ? Int.random(in: 1...3, using: &dice) : nil
      // An interrupted sync keeps its pages for the next one, a killed one keeps what its files have.
      let isKilled = Bool.random(using: &dice)
      let wrong = Double.random(in: -20_000...20_000, using: &dice)
      bench.shelf.update { $0.now = upstream.now + (step.isMultiple(of: 4) ? wrong : 0) }
      let before = try Cached(bench, step: step)
      upstream.begin(isQuiet: isQuiet, at: killed) { try? before.keep() }
      let record = try await bench.sync([resource], allowRemoval: true)
      if upstream.wasKilled {
        if isKilled { try before.restore() }
      } else if record.outcome == .failed {
        if isQuiet { faults.append("step \(step) failed: \(record.error ?? "")") }
      } else {
        let found = Self.check(
          upstream, before: before, after: try Cached(bench, step: step), isQuiet: isQuiet, overlap: overlap)
        faults += found.map { "step \(step): \($0), \(upstream.description)" }
      }
    }
    return faults
  }

  private static func check(
    _ upstream: ChangingUpstream, before: Cached, after: Cached, isQuiet: Bool, overlap: Int
  ) -> [String] {
    var faults: [String] = []
    for id in after.records.keys where !upstream.wasEver(id) { faults.append("\(id) was never there") }
    for (id, name) in upstream.guaranteed where after.records[id] != name {
      faults.append("\(id) is \(after.records[id] ?? "missing"), not \(name)")
    }
    let isSteady = isQuiet && upstream.isSteady
    for id in upstream.closedNow where isSteady && after.records[id] != nil { faults.append("\(id) is closed") }
    guard upstream.wasWhole else {
      return faults + (after.wholeAt == before.wholeAt ? [] : ["an incremental pull is not whole"])
    }
    guard isSteady else { return faults }
    if after.records != upstream.open { faults.append("a whole pull differs: \(after.records) \(upstream.open)") }
    let missed = before.mark.flatMap { upstream.missed(from: $0, before.records, overlap: overlap) }
    if after.missed != missed {
      faults.append("\(after.missed.map(String.init) ?? "none") missed, not \(missed.map(String.init) ?? "none")")
    }
    return faults
  }

  /// What is in the cache, and its files as they are at an instant.
  private struct Cached {
    var records: [Int: String] = [:]
    var mark: String?
    var wholeAt: String?
    var missed: Int?
    private let folder: URL
    private let aside: URL

    init(_ bench: SyncBench, step: Int) throws {
      folder = URL(filePath: bench.path).deletingLastPathComponent()
      aside = URL(filePath: bench.workspace.path("killed-\(step)"))
      guard FileManager.default.fileExists(atPath: bench.path) else { return }
      let database = try Database(path: bench.path, access: .readOnly)
      defer { database.close() }
      let known = try database.rows("SELECT 1 FROM sqlite_schema WHERE name = 'items'") { $0.int(0) }
      if known.isEmpty { return }
      for (id, name) in try database.rows("SELECT id, name FROM items", read: { ($0.int(0), $0.text(1)) }) {
        records[id] = name
      }
      let list = try database.first("SELECT mark, whole_at, missed FROM resource_lists") {
        (mark: $0.optionalText(0), wholeAt: $0.optionalText(1), missed: $0.optionalInteger(2))
      }
      (mark, wholeAt, missed) = (list?.mark, list?.wholeAt, list?.missed.map { Int($0) })
    }

    private func names(in folder: URL) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter { $0.hasPrefix("roster.db") }
    }

    /// As a SIGKILL at this instant would leave them.
    func keep() throws {
      try FileManager.default.createDirectory(at: aside, withIntermediateDirectories: true)
      for name in try names(in: folder) {
        try Data(contentsOf: folder.appending(path: name)).write(to: aside.appending(path: name))
      }
    }

    func restore() throws {
      for name in try names(in: folder) { try FileManager.default.removeItem(at: folder.appending(path: name)) }
      for name in try names(in: aside) {
        try Data(contentsOf: aside.appending(path: name)).write(to: folder.appending(path: name))
      }
    }
  }
}

/// An upstream with its own clock, whose records change, become visible late, close and disappear.
private final class ChangingUpstream: Sendable {
  private struct Version {
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

  private struct State {
    var dice: SeededDice
    var time = 1_790_000_000.0
    var records: [Int: [Version]] = [:]
    var nextID = 1
    var counter = 0
    var isQuiet = true
    var isWhole = false
    var requests = 0
    var began = 0.0
    var killedAt: Int?
    var wasKilled = false
    var kill: (@Sendable () -> Void)?
  }

  let description: String
  private let grain: Int
  private let lateness: Double
  private let overlap = 60
  private let isExclusive: Bool
  private let hasTags: Bool
  private let style: Int
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
    style = Int.random(in: 0...1, using: &dice)
    description = "grain \(grain), late \(lateness), exclusive \(isExclusive), tags \(hasTags), style \(style)"
    state = Mutex(State(dice: SeededDice(seed: seed &+ 1000)))
    state.withLock { state in for _ in 0..<10 { change(&state, canDelete: false) } }
    live(seconds: 500, changes: 0)
  }

  func resource(overlap: Int) -> Resource {
    func at(_ names: String...) -> JSONPointer { JSONPointer(segments: names) }
    var resource = Resource(
      name: "item", path: "/items", records: at("results"), table: "items",
      conditions: [.init(at("state"), .equal(.text("open")))], byKey: "/items/{key}", removal: .ask,
      pages: .init(style == 0 ? .next(at: .body(at("next"))) : .number(last: .body(at("pages")))),
      columns: [.init("id", at: at("id"), .integer), .init("name", at: at("name"))])
    resource.since = Since(
      at: at("updated"), param: .query("since"), overlap: .time(.seconds(overlap)), wholeEvery: .seconds(7200),
      listing: resource.listing)
    return resource
  }

  var now: Date { Date(timeIntervalSince1970: state.withLock { $0.time }) }

  /// Time passes, and records change.
  func live(seconds: Double, changes: Int) {
    state.withLock { state in
      for _ in 0..<changes { change(&state, canDelete: true) }
      state.time += seconds
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
    version.isGuaranteed = version.visible - Double(version.stamp) + Double(grain) < Double(overlap)
    version.isClosed = Int.random(in: 0..<6, using: &state.dice) == 0
    if canDelete, !isNew, Int.random(in: 0..<6, using: &state.dice) == 0 { version.isDeleted = true }
    state.records[id, default: []].append(version)
  }

  func begin(isQuiet: Bool, at request: Int?, kill: @escaping @Sendable () -> Void) {
    state.withLock { state in
      (state.isQuiet, state.kill, state.killedAt) = (isQuiet, kill, request)
      // The pages of an interrupted sync are of the time when it began.
      if !state.wasKilled { (state.isWhole, state.began) = (false, state.time) }
      (state.requests, state.wasKilled) = (0, false)
    }
  }

  var wasKilled: Bool { state.withLock(\.wasKilled) }
  var wasWhole: Bool { state.withLock(\.isWhole) }

  private static func visible(_ versions: [Version], at time: Double) -> Version? {
    versions.last { $0.visible <= time }
  }

  private func visible(_ state: State, at time: Double? = nil) -> [Int: Version] {
    state.records.compactMapValues { Self.visible($0, at: time ?? state.time) }.filter { !$0.value.isDeleted }
  }

  /// The names of records that are not closed.
  var open: [Int: String] {
    state.withLock { state in visible(state).filter { !$0.value.isClosed }.mapValues(\.name) }
  }

  /// Records whose visible version was seen by a pull within the overlap, and has not changed since the sync began.
  var guaranteed: [Int: String] {
    state.withLock { state in
      visible(state, at: state.began).filter { id, version in
        !version.isClosed && version.isGuaranteed && state.records[id]?.last?.name == version.name
      }.mapValues(\.name)
    }
  }

  var closedNow: [Int] {
    state.withLock { state in
      visible(state, at: state.began).filter { $0.value.isClosed && $0.value.isGuaranteed }.map(\.key)
    }
  }

  /// True if queries have seen the same records since the sync began.
  var isSteady: Bool {
    state.withLock { state in visible(state, at: state.began).mapValues(\.name) == visible(state).mapValues(\.name) }
  }

  func wasEver(_ id: Int) -> Bool { state.withLock { $0.records[id] != nil } }

  /// Records that a whole pull adds or changes although their stamp is before the start of an incremental one.
  func missed(from mark: String, _ cached: [Int: String], overlap: Int) -> Int? {
    guard let start = Mark(mark, form: .rfc3339)?.value else { return nil }
    return state.withLock { state in
      visible(state).filter { id, version in
        !version.isClosed && cached[id] != version.name
          && Int64(version.stamp) * 1_000_000_000 < start - Int64(overlap) * 1_000_000_000
      }.count
    }
  }

  // MARK: Answers

  func answer(_ request: Request) -> Response {
    state.withLock { state in
      state.requests += 1
      if state.requests == state.killedAt {
        state.kill?()
        state.wasKilled = true
      }
      if state.wasKilled { return Response(status: 503) }
      state.time += Double.random(in: 1...max(1.1, slowest), using: &state.dice)
      if !state.isQuiet, Int.random(in: 0..<3, using: &state.dice) == 0 { change(&state, canDelete: false) }
      let target = String(request.url.dropFirst(Shelf.baseURL.count))
      let parts = target.split(separator: "?")
      return parts[0] == "/items"
        ? page(parts.count > 1 ? String(parts[1]) : "", request: request, state: &state)
        : single(String(parts[0]), state: state)
    }
  }

  private func single(_ path: String, state: State) -> Response {
    let id = Int(path.split(separator: "/").last ?? "") ?? 0
    guard let version = visible(state)[id] else { return Response(status: 404) }
    return Response(status: 200, body: Array(Self.json(id, version: version).utf8))
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
    let since = parameters["since"].flatMap { Mark($0, form: .rfc3339)?.value }.map { Int($0 / 1_000_000_000) }
    if since == nil { state.isWhole = true }
    let all = visible(state).filter { _, version in
      since.map { isExclusive ? version.stamp > $0 : version.stamp >= $0 } ?? true
    }.sorted { $0.key < $1.key }
    let number = Int(parameters["page"] ?? "") ?? 1
    let pages = max(1, (all.count + 2) / 3)
    let shown = all.dropFirst((number - 1) * 3).prefix(3).map { Self.json($0.key, version: $0.value) }.joined(
      separator: ",")
    let next =
      number < pages
      ? "\"/items?page=\(number + 1)\(parameters["since"].map { "&since=\($0)" } ?? "")\"" : "null"
    let body = #"{"pages":\#(pages),"next":\#(next),"results":[\#(shown)]}"#
    let tag = "\"\(body.utf8.reduce(5381) { $0 &* 33 &+ Int($1) })\""
    var headers = [Request.Header("Date", Date(timeIntervalSince1970: state.time + dateAhead).httpDate)]
    if hasTags { headers.append(Request.Header("ETag", tag)) }
    let isKnown = hasTags && request.headers.contains { $0.name == "If-None-Match" && $0.value == tag }
    return Response(status: isKnown ? 304 : 200, headers: headers, body: isKnown ? [] : Array(body.utf8))
  }
}
