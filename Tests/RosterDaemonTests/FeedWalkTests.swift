import FoundationEssentials
import Glibc
import Logging
import RosterCore
import RosterSimulator
import RosterSync
import RosterTestSupport
import Testing

@testable import RosterDaemon

/// Random histories of a cache, and tools that follow it.
@Suite struct FeedWalkTests {
  /// `make soak`: 300.
  private static let walks = ProcessInfo.processInfo.environment["ROSTER_FEED"].flatMap(UInt64.init) ?? 6
  private static let steps = 60

  @Test("7: a follower of changes has exactly the cached characters, through random events and pauses")
  func followed() async throws {
    var reasons: Set<Follower.Reason> = []
    var changes = 0
    for seed in 0..<Self.walks {
      let validators: Scenario.Validators = seed % 3 == 2 ? .none : .etag
      var scenario = Scenario(characters: Array(sevenPages.prefix(70)))
      scenario.validators = validators
      try await withBench(scenario, concurrency: 4, environment: ["ROSTERD_CACHE_HISTORY": "2d"]) { bench in
        var walk = try FeedWalk(bench, seed: seed)
        do {
          for _ in 0..<Self.steps { try await walk.step() }
          try await walk.end()
        } catch {
          await walk.stop()
          Issue.record(error, "\(walk.past)")
        }
        for follower in walk.followers {
          reasons.formUnion(follower.readings.keys)
          changes += follower.followed
        }
      }
    }
    // Each part of the rule was needed, and there were changes to follow.
    #expect(reasons == [.first, .otherFeed, .ended, .below])
    #expect(changes > 100 * Int(Self.walks), "\(changes)")
  }
}

/// The random history of a cache: changes in upstream, changes to the file, and followers that read it.
private struct FeedWalk {
  /// The percentage of steps at which each follower reads.
  private static let attention = [100, 40, 15, 5]

  private(set) var followers = attention.map { _ in Follower() }
  private let bench: Bench
  private let seed: UInt64
  private let clock = ManualClock()
  private var dice: SeededDice
  private var runtime: Runtime?
  private var count = 0
  private var backups = 0
  private var nextID: Int64 = 1_000
  private var gone: [RosterSimulator.Character] = []
  private var trail: [String] = []
  private var isReadable = false

  init(_ bench: Bench, seed: UInt64) throws {
    self.bench = bench
    self.seed = seed
    dice = SeededDice(seed: seed)
  }

  mutating func step() async throws {
    count += 1
    clock.advance(by: .seconds(dice.number(60...40_000)))
    switch dice.number(0...99) {
    case 0..<40:
      edit()
      try await sync()
    case 40..<50: try await sync()
    case 50..<62: try await breakOff()
    case 62..<68: try await callBack()
    case 68..<72: try await drift()
    case 72..<76: try await reject()
    case 76..<79: clock.advance(by: .seconds(3 * 86_400))
    case 79..<83: await stop()
    case 83..<89: try await backUp()
    case 89..<96: try await restore()
    default: try await damage()
    }
    guard isReadable else { return }
    for index in followers.indices where dice.number(0...99) < Self.attention[index] { try look(index) }
  }

  mutating func end() async throws {
    edit()
    try await sync()
    try await sync()
    for index in followers.indices { try look(index) }
    await stop()
  }

  mutating func stop() async {
    note("stop")
    await runtime?.close()
    runtime = nil
  }

  private mutating func look(_ index: Int) throws {
    try followers[index].look(at: bench.cachePath, "follower \(index), \(past)")
  }

  /// The seed and the latest steps, for a failure message.
  var past: String { "seed \(seed): \(trail.suffix(12))" }

  private mutating func note(_ what: String) { trail.append("\(count) \(what)") }

  // MARK: What upstream does

  private mutating func edit() {
    var characters = bench.upstream.characters
    for _ in 0..<dice.number(1...4) {
      let index = dice.number(0...(characters.count - 1))
      switch dice.number(0...5) {
      case 0:
        characters.insert(newcomer(like: characters[index]), at: index)
      case 1 where !gone.isEmpty:
        // A new version of a removed record.
        var back = gone.remove(at: dice.number(0...(gone.count - 1)))
        if dice.isHeads { back = back.marked(count) }
        characters.insert(back, at: index)
      case 2 where characters.count > 50:
        gone.append(characters.remove(at: index))
      case 3: characters[index].extra = #"{"rank":\#(count).10,"note":"é","origin":{"moons":[\#(count)]}}"#
      case 4: characters[index].episodes = (0..<dice.number(0...4)).map { "e/\(count)/\($0)" }
      default: characters[index].status += "·"
      }
    }
    bench.upstream.update { [characters] in $0 = characters }
  }

  private mutating func newcomer(like other: RosterSimulator.Character) -> RosterSimulator.Character {
    var character = other
    character.id = nextID
    nextID += 1
    return character
  }

  // MARK: How syncs go

  @discardableResult
  private mutating func sync() async throws -> SyncRecord {
    let wish = SyncRequest(allowRemoval: dice.isHeads)
    let report = await (try await open()).sync(wish).run()
    note("sync \(report.id) \(report.outcome)")
    bench.upstream.configure { $0.rules = [] }
    isReadable = true
    return report
  }

  private mutating func open() async throws -> Runtime {
    if let runtime { return runtime }
    let opened = try await Runtime.open(
      bench.configuration, clock: clock.wallClock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    runtime = opened
    return opened
  }

  private var pages: Int { (bench.upstream.characters.count + 19) / 20 }

  private mutating func breakOff() async throws {
    edit()
    let page = dice.number(1...pages)
    bench.upstream.configure { $0.rules = [.on(.page(page), .status(400))] }
    try await sync()
  }

  private mutating func callBack() async throws {
    edit()
    let runtime = try await open()
    // Page 1 is always requested.
    bench.upstream.hold(.page(1))
    let bench = bench
    try await withThrowingTaskGroup(of: SyncRecord.self) { group in
      group.addTask { await runtime.sync(SyncRequest()).run() }
      try await bench.upstream.waitFor { $0.held == 1 }
      group.cancelAll()
      _ = try await group.next()
    }
    bench.upstream.release()
    isReadable = true
    note("called back")
  }

  private mutating func drift() async throws {
    let page = dice.number(1...pages)
    let from = dice.number(0...49)
    bench.upstream.configure {
      $0.rules = [.on(.page(page), times: 1, .drift { $0.append($0.remove(at: from)) })]
    }
    note("drift")
    try await sync()
  }

  private mutating func reject() async throws {
    let page = dice.number(1...pages)
    let position = dice.number(0...5)
    let index = min((page - 1) * 20 + position, bench.upstream.characters.count - 1)
    let id = bench.upstream.characters[index].id
    let record = dice.isHeads ? #"{"id":\#(id),"name":5}"# : #"{"id":"none"}"#
    edit()
    bench.upstream.configure { $0.rules = [.on(.page(page), .records([position: record]))] }
    note("reject")
    try await sync()
  }

  // MARK: What befalls the files

  private var staging: String { bench.workspace.path("state/roster.staging.db") }

  private func remove(_ path: String) {
    for part in ["", "-wal", "-shm"] { unlink(path + part) }
  }

  private mutating func backUp() async throws {
    await stop()
    guard isReadable else { return }
    for (file, name) in [(bench.cachePath, "cache"), (staging, "staging")]
    where FileManager.default.fileExists(atPath: file) {
      try FileManager.default.copyItem(atPath: file, toPath: bench.workspace.path("\(name)-\(backups)"))
    }
    backups += 1
    note("backup")
  }

  private mutating func restore() async throws {
    guard backups > 0 else { return }
    // Sometimes while rosterd is running.
    if dice.number(0...3) > 0 { await stop() }
    let number = dice.number(0...(backups - 1))
    let fate = dice.number(0...2)
    // A restore sometimes overwrites the file as `cp` does. It never overwrites both files, because then no sign of the
    // restore would be left.
    let isOver = runtime == nil && fate < 2 && dice.isHeads
    note(
      "restore \(number) \(runtime == nil ? "" : "running ")\(isOver ? "over " : "")\(["beside its staging", "alone", "with staging"][fate])"
    )
    if !isOver { remove(bench.cachePath) }
    try Data(contentsOf: URL(filePath: bench.workspace.path("cache-\(number)")))
      .write(to: URL(filePath: bench.cachePath))
    if fate > 0 { remove(staging) }
    let copy = bench.workspace.path("staging-\(number)")
    if fate == 2, FileManager.default.fileExists(atPath: copy) {
      try FileManager.default.copyItem(atPath: copy, toPath: staging)
    }
    // Without -wal and -shm, only a user with write permission can read the cache; this test has it.
    isReadable = true
  }

  private mutating func damage() async throws {
    await stop()
    isReadable = false
    guard FileManager.default.fileExists(atPath: bench.cachePath) else { return }
    let size = (try FileManager.default.attributesOfItem(atPath: bench.cachePath)[.size] as? Int) ?? 0
    switch dice.number(0...3) {
    case 0:
      note("removed")
      remove(bench.cachePath)
    case 1:
      note("cut off")
      truncate(bench.cachePath, size / 2)
    case 2:
      note("garbage")
      let file = Glibc.open(bench.cachePath, O_WRONLY)
      defer { close(file) }
      let garbage = [UInt8](repeating: 0x5A, count: max(0, size - 4096))
      pwrite(file, garbage, garbage.count, 4096)
    default:
      note("staging removed")
      remove(staging)
      isReadable = true
    }
    if dice.isHeads { try await sync() }
  }
}

extension SeededDice {
  fileprivate mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
  fileprivate var isHeads: Bool { mutating get { number(0...1) == 1 } }
}
