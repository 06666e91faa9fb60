import Foundation
import RosterCore
import RosterTestSupport
import Synchronization
import Testing

/// Random histories of an upstream that gives delta tokens, or a feed of keys.
@Suite("21: random histories of an upstream with delta tokens, or with a feed of keys")
struct TokenHistoryTests {
  /// `make soak`: 2,000.
  static let histories = ProcessInfo.processInfo.environment["ROSTER_HISTORIES"].flatMap(UInt64.init) ?? 50

  @Test(
    "15, 21: after each sync the cache has every record in its state at the start of the sync, or later",
    arguments: UInt64(1)...histories)
  func history(seed: UInt64) async throws {
    for hasTokens in [true, false] {
      let faults = try await faults(seed: seed, hasTokens: hasTokens)
      #expect(faults.isEmpty, "history \(seed), tokens \(hasTokens): \(faults.joined(separator: "; "))")
    }
  }

  @Test("21: these histories lose records if the token is of the end of a pull, or if a feed lacks keys")
  func sensitive() async throws {
    var lost = [false, false]
    for seed in UInt64(1)...40 where lost.contains(false) {
      if !lost[0] { lost[0] = try await !faults(seed: seed, hasTokens: true, isWrong: true).isEmpty }
      if !lost[1] { lost[1] = try await !faults(seed: seed, hasTokens: false, isWrong: true).isEmpty }
    }
    #expect(lost == [true, true])
  }

  private func faults(seed: UInt64, hasTokens: Bool, isWrong: Bool = false) async throws -> [String] {
    var dice = SeededDice(seed: seed)
    let upstream = TokenUpstream(seed: seed, isWrong: isWrong)
    let bench = try SyncBench([:])
    bench.shelf.update { $0.answers = { upstream.answer($0) } }
    let resource = hasTokens ? TokenUpstream.tokens : TokenUpstream.feed
    var faults: [String] = []
    for step in 1...12 {
      upstream.change(Int.random(in: 0...6, using: &dice), forgets: Int.random(in: 0..<5, using: &dice) == 0)
      let isFailing = Int.random(in: 0..<4, using: &dice) == 0
      // An interrupted sync keeps its pages for the next one, a killed one keeps what its files have.
      let isKilled = Bool.random(using: &dice)
      let before = try CachedItems(bench, step: step)
      upstream.begin(failsAt: isFailing ? Int.random(in: 1...5, using: &dice) : nil) {
        if isKilled { try? before.keep() }
      }
      let longest: Double = Bool.random(using: &dice) ? 60 : 1200
      let pause = step.isMultiple(of: 5) ? 90_000 : Double.random(in: 1...longest, using: &dice)
      bench.shelf.update { $0.now += pause }
      let record = try await bench.sync([resource], allowRemoval: true)
      if isKilled, upstream.hasFailed {
        try before.restore()
        continue
      }
      if record.exit != 0 || record.error != nil {
        // The record of the control question was removed while the pull ran.
        let isUnlucky = record.trouble?.kind == .wrongByKey && upstream.hasRemoved
        if !upstream.hasFailed, !isUnlucky { faults.append("step \(step) failed: \(record.error ?? "")") }
        continue
      }
      let stored = try bench.ask("SELECT id || ' ' || name FROM items ORDER BY id")
      faults += upstream.faults(in: stored).map { "step \(step): \($0)" }
    }
    return faults
  }
}

/// An upstream whose records have a version, which each change of any record increases.
private final class TokenUpstream: Sendable {
  private struct Entry {
    var version: Int
    var isGone = false
  }

  private struct State {
    var dice: SeededDice
    var version = 0
    var entries: [Int: Entry] = [:]
    var feed: [(key: Int, version: Int)] = []
    /// The oldest token that is known.
    var floor = 0
    var began = 0
    var requests = 0
    var failsAt: Int?
    var hasFailed = false
    var onFailure: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>
  /// Tokens are of the end of a pull, and the feed lacks a change now and then.
  private let isWrong: Bool

  init(seed: UInt64, isWrong: Bool) {
    self.isWrong = isWrong
    state = Mutex(State(dice: SeededDice(seed: seed &+ 5000)))
    change(12, forgets: false)
  }

  private static let whole = Resource(
    name: "item", path: "/items", records: at("results"), table: "items",
    conditions: [.init(at("gone"), .absent)], byKey: "/items/{key}", removal: .ask,
    pages: .init(.next(at: .body(at("next")))),
    columns: [.init("id", at: at("id"), .integer), .init("name", at: at("name"))])

  static var tokens: Resource {
    var resource = whole
    resource.since = Since(token: .body(at("token")), param: .query("token"), listing: whole.listing)
    return resource
  }

  static var feed: Resource {
    var resource = whole
    var listing = whole.listing
    listing.path = "/events"
    listing.key = at("object")
    resource.since = Since(
      at: at("time"), param: .query("since"), form: .unix, overlap: .time(.seconds(1)), asks: true, listing: listing)
    return resource
  }

  /// The time of version 0, in seconds since 1970. Each version takes a second.
  private static let start = 1_700_000_000

  // MARK: Its life

  func change(_ count: Int, forgets: Bool) {
    state.withLock { state in
      for _ in 0..<count { change(&state) }
      if forgets { state.floor = state.version + 1 }
    }
  }

  private func change(_ state: inout State) {
    state.version += 1
    let id = Int.random(in: 1...(state.entries.count + 2), using: &state.dice)
    let isGone = state.entries[id].map { !$0.isGone } == true && Int.random(in: 0..<4, using: &state.dice) == 0
    state.entries[id] = Entry(version: state.version, isGone: isGone)
    if !isWrong || state.version % 3 > 0 { state.feed.append((id, state.version)) }
  }

  func begin(failsAt: Int?, onFailure: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.onFailure = onFailure
      // A pull that failed is resumed, so that its pages are of that time.
      if !state.hasFailed { state.began = state.version }
      (state.requests, state.failsAt, state.hasFailed) = (0, failsAt, false)
    }
  }

  var hasFailed: Bool { state.withLock(\.hasFailed) }

  /// True if a record was removed since the sync began.
  var hasRemoved: Bool {
    state.withLock { state in state.entries.values.contains { $0.isGone && $0.version > state.began } }
  }

  /// Records that did not change since the sync began, and that the cache has otherwise.
  func faults(in stored: [String]) -> [String] {
    state.withLock { state in
      let settled = state.entries.filter { $0.value.version <= state.began }
      let shown = Dictionary(
        uniqueKeysWithValues: stored.map { line in
          let parts = line.split(separator: " ")
          return (Int(parts[0]) ?? 0, String(parts[1]))
        })
      return settled.sorted { $0.key < $1.key }.compactMap { id, entry in
        let expected = entry.isGone ? nil : "v\(entry.version)"
        return shown[id] == expected ? nil : "\(id) is \(shown[id] ?? "missing"), not \(expected ?? "missing")"
      }
    }
  }

  // MARK: Answers

  func answer(_ request: Request) -> Response {
    state.withLock { state in
      state.requests += 1
      if let last = state.failsAt, state.requests >= last {
        if !state.hasFailed { state.onFailure?() }
        state.hasFailed = true
        return Response(status: 500)
      }
      let parts = request.url.dropFirst(Shelf.baseURL.count).split(separator: "?")
      var query: [String: Int] = [:]
      for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
        let sides = pair.split(separator: "=")
        query[String(sides[0])] = sides.dropFirst().first.flatMap { Int($0) }
      }
      switch String(parts[0]) {
      case "/items": return items(query, state: &state)
      case "/events": return events(query, state: &state)
      default: return single(Int(parts[0].split(separator: "/").last ?? "") ?? 0, state: state)
      }
    }
  }

  private func items(_ query: [String: Int], state: inout State) -> Response {
    if let token = query["token"], token < state.floor { return Response(status: 410) }
    let began = query["began"] ?? state.version
    let found = state.entries.filter { id, entry in query["token"].map { entry.version > $0 } ?? !entry.isGone }
    let all = found.sorted { $0.value.version < $1.value.version }.map {
      ($0.value.version, json($0.key, entry: $0.value))
    }
    let token = query["token"].map { "&token=\($0)" } ?? ""
    let answer = page(
      all, query: query, address: "/items?began=\(began)\(token)", token: isWrong ? state.version : began,
      at: state.version)
    if Bool.random(using: &state.dice) { change(&state) }
    return answer
  }

  private func events(_ query: [String: Int], state: inout State) -> Response {
    let since = query["since"] ?? 0
    let all = state.feed.filter { Self.start + $0.version >= since }.map {
      ($0.version, #"{"object":\#($0.key),"time":\#(Self.start + $0.version)}"#)
    }
    let answer = page(all, query: query, address: "/events?since=\(since)", token: nil, at: state.version)
    if Bool.random(using: &state.dice) { change(&state) }
    return answer
  }

  private func single(_ id: Int, state: State) -> Response {
    guard let entry = state.entries[id], !entry.isGone else { return Response(status: 404) }
    return Response(json: json(id, entry: entry))
  }

  private func json(_ id: Int, entry: Entry?) -> String {
    guard let entry, !entry.isGone else { return #"{"id":\#(id),"gone":true}"# }
    return #"{"id":\#(id),"time":\#(Self.start + entry.version),"name":"v\#(entry.version)"}"#
  }

  /// The records are in the order of versions: a record that changes during a pull is listed again at the end.
  private func page(_ all: [(Int, String)], query: [String: Int], address: String, token: Int?, at version: Int)
    -> Response
  {
    let rest = all.filter { $0.0 > query["p"] ?? 0 }
    let shown = rest.prefix(3)
    let next = rest.count > 3 ? #""next":"\#(address)&p=\#(shown.last?.0 ?? 0)","# : ""
    let last = rest.count <= 3 ? token.map { #""token":"\#($0)","# } ?? "" : ""
    let body = "{\(next)\(last)\"results\":[\(shown.map(\.1).joined(separator: ","))]}"
    let date = Date(timeIntervalSince1970: Double(Self.start + version)).httpDate
    return Response(status: 200, headers: [.init("Date", date)], body: Array(body.utf8))
  }
}
