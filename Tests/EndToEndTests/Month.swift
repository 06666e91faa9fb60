import FoundationEssentials
import Glibc
import HastyRosterd
import RosterCore
import RosterSimulator
import RosterStatusClient
import RosterTestSupport
import Testing

/// A rosterd, its upstream and a reader with a common clock. The clock jumps to the next sync, and runs fast during a
/// sync.
final class Month {
  private(set) var site: Site
  let clock: HastyClock
  let plan = MonthPlan()
  private(set) var ledger = MonthLedger()
  /// The resources at the end of each day.
  private(set) var extents: [Extent] = []
  /// The latest metrics of all processes.
  private(set) var metrics: [String: Int] = [:]
  /// Maximum number of requests in any 24 hours.
  private(set) var maxRequests = 0
  /// Number of syncs that the budget interrupted. That is allowed if they needed more requests than the previous one.
  private(set) var overBudget = 0

  private var reader: Program?
  private var number = 0
  private let syncs: Int
  private var lastRow: Int64 = 0
  private var outageEnds = Date.distantPast
  /// All characters, while upstream lists only some of them.
  private var everybody: [RosterSimulator.Character] = []
  private var expectedExit: Int32 = 0
  /// Budget of the running process.
  private var budget = 0
  /// A sync that ended with its process.
  private var unbooked: (counts: Counts, stop: MonthPlan.Stop, began: Date, ended: Date)?
  /// The current token was granted at this time or later.
  private var tokenSince: Date
  private var arrivals: [(at: Date, count: Int)] = []

  /// Speed of the clock during a sync. At this speed answers take seconds, as those of a slow upstream, and no token
  /// expires in transit.
  private static let haste = 200
  private static let look = Duration.milliseconds(300)
  private static let secondsOfDay = 86_400.0
  /// The default of `auth.early_refresh`.
  private static let earlyRefresh = 60.0
  static let rate = 2.0
  static let concurrency = 4

  init(_ site: Site, clock: HastyClock, syncs: Int) {
    self.site = site
    self.clock = clock
    self.syncs = syncs
    tokenSince = clock.now
  }

  /// Returns the output of the reader.
  func run() async throws -> Program.Outcome {
    try configure()
    prepare()
    while number < syncs {
      try await site.withDaemon([]) { daemon, _ in
        try await self.live(daemon)
      }
    }
    let reader = try #require(reader)
    reader.signal(SIGTERM)
    return try await reader.end()
  }

  /// Runs one process until the next deployment.
  private func live(_ daemon: Program) async throws {
    let client = StatusClient(socket: site.socket)
    let (ends, came) = AsyncStream<Void>.makeStream()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        defer { came.finish() }
        // The stream begins with the first sync, which may have ended already.
        try await client.follow(after: "0") { event in
          if Self.endings.contains(event.name) { came.yield() }
          return true
        }
      }
      defer { group.cancelAll() }
      var own: [String: Int] = [:]
      var end = ends.makeAsyncIterator()
      repeat {
        let began = clock.now
        try await hurrying { #expect(await end.next() != nil, "\(daemon.complaints)") }
        try await book(began: began)
        // The cache exists now, so the reader can start.
        try reader = reader ?? Program(try Program.tool("python3"), arguments: ["-c", MonthReader.program, site.cache])
        own = try await site.metrics().filter { $0.key.contains("_total") }
        if number % MonthPlan.day == 0 { extents.append(try Extent(site, daemon: daemon)) }
        if number == syncs { break }
        prepare()
        if let stop = plan.stop(at: number) {
          try await self.stop(daemon, stop: stop)
          break
        }
        try await Self.jump(clock, in: site)
      } while true
      metrics.merge(own, uniquingKeysWith: +)
    }
  }

  private static let endings = [Event.Name.syncFailed, .syncPublished, .syncUnchanged, .syncCancelled].map(\.rawValue)

  /// Advances the clock to the next sync if none runs.
  /// - Parameter last: the last known sync; the clock is advanced only if no later one has ended.
  private static func jump(_ clock: HastyClock, in site: Site, after last: Int64 = .max) async throws {
    let sync = try await site.status().sync
    guard sync.current == nil, sync.last.map({ $0.id <= last }) ?? true,
      let next = sync.nextAt.flatMap({ Date(rfc3339: $0) })
    else { return }
    clock.advance(by: .seconds(max(0, next.timeIntervalSince(clock.now))))
  }

  /// Runs `body` while each tick of the machine's time is many ticks of the test's clock. Longer waits are skipped.
  private func hurrying(_ body: () async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { [clock] in
        while true {
          try await Task.sleep(for: HastyClock.tick)
          clock.advance(by: HastyClock.tick * Self.haste)
        }
      }
      // A due sync may be postponed (`limit.budget`).
      group.addTask { [clock, site, last = lastRow + (unbooked == nil ? 0 : 1)] in
        while true {
          try await Task.sleep(for: Self.look)
          try? await Self.jump(clock, in: site, after: last)
        }
      }
      defer { group.cancelAll() }
      try await body()
    }
  }
}

// MARK: The books

extension Month {
  /// Compares the new rows of `syncs` with the requests that reached upstream.
  private func book(began: Date) async throws {
    var rows = try await newRows()
    if let unbooked, !rows.isEmpty {
      let row = rows.removeFirst()
      #expect(row.outcome == (unbooked.stop == .killed ? .interrupted : .cancelled), "\(row)")
      book(row, counts: unbooked.counts, time: unbooked.began...unbooked.ended, stop: unbooked.stop)
    }
    unbooked = nil
    try #require(rows.count == 1, "\(number): \(rows)")
    let ended = clock.now
    if rows[0].isOverBudget { overBudget += 1 }
    #expect(rows[0].exit == expectedExit || rows[0].isOverBudget, "\(number): \(rows[0])")
    book(rows[0], counts: site.upstream.counts, time: began...ended, stop: nil)
    number += 1
  }

  private func book(_ row: SyncRecord, counts: Counts, time: ClosedRange<Date>, stop: MonthPlan.Stop?) {
    let end = tokenSince + MonthPlan.tokenLife.seconds
    let granted = ledger.granted
    let cuts = row.exit == 0 ? plan.cutPages(at: number).count { counts.requests(ofPage: $0).first?.status == 200 } : 0
    ledger.book(
      row, counts: counts, cuts: cuts, isDue: time.upperBound >= end - Self.earlyRefresh,
      isOver: time.upperBound >= end,
      stop: stop)
    if ledger.granted > granted { tokenSince = time.lowerBound }
    let requests = counts.pageRequests.count + counts.byIDRequests.count + counts.tokenRequests.count
    arrivals.append((time.lowerBound, requests))
    arrivals.removeAll { $0.at < time.upperBound - Self.secondsOfDay }
    let day = arrivals.reduce(0) { $0 + $1.count }
    maxRequests = max(maxRequests, day)
    #expect(requests == 0 || stop != nil || day <= budget, "\(number): \(day) requests in a day")
    // The requests of one second may arrive at once.
    let most = Int(Self.rate * (time.upperBound.timeIntervalSince(time.lowerBound) + 1)) + 1
    #expect(requests <= most, "\(number): \(requests) requests")
  }

  /// Oldest first.
  private func newRows() async throws -> [SyncRecord] {
    struct Answer: Decodable { var syncs: [SyncRecord] }
    let answer = try await StatusClient(socket: site.socket).send("GET", target: "/v1/syncs?limit=9")
    let rows = try JSONDecoder().decode(Answer.self, from: Data(answer.body)).syncs.filter { $0.id > lastRow }
    lastRow = rows.first?.id ?? lastRow
    return rows.reversed()
  }
}

// MARK: What happens

extension Month {
  /// Sets the behaviour of upstream for the next sync.
  private func prepare() {
    if clock.now >= outageEnds, plan.beginsOutage(at: number) { outageEnds = clock.now + MonthPlan.outage.seconds }
    let isAway = clock.now < outageEnds
    let rules = isAway ? [Rule.on(.anyPage, .status(503))] : plan.rules(at: number)
    site.upstream.configure { $0.rules = rules }
    site.upstream.forgetRequests()
    if !isAway { change() }
    expectedExit = isAway || plan.isPutOff(at: number) ? 69 : everybody.isEmpty ? 0 : 65
  }

  private func change() {
    let number = number
    if plan.isGuarded(at: number) {
      if everybody.isEmpty {
        everybody = site.upstream.characters
        site.upstream.update { $0.removeLast($0.count * 2 / 5) }
      }
    } else if !everybody.isEmpty {
      site.upstream.update { [everybody] in $0 = everybody }
      everybody = []
    }
    let pages = plan.changedPages(at: number)
    let isReplacing = plan.replaces(at: number)
    if pages.isEmpty && !isReplacing { return }
    site.upstream.update { characters in
      for page in pages {
        let index = (page - 1) * 20 + number % 20
        characters[index] = characters[index].marked(number)
      }
      if isReplacing {
        characters.remove(at: number * 7 % characters.count)
        characters.append(Character(id: Int64(1000 + number), name: "newcomer \(number)"))
      }
    }
  }

  /// Ends the process by a deployment, or by its failure.
  private func stop(_ daemon: Program, stop: MonthPlan.Stop) async throws {
    if stop == .atRest {
      let outcome = try await daemon.end(by: SIGTERM)
      #expect(outcome.exit == 0, "\(outcome.error)")
    } else {
      let began = clock.now
      site.upstream.hold(.pages(2...MonthPlan.pages))
      try await Self.jump(clock, in: site)
      try await hurrying { try await self.site.upstream.waitFor { $0.held == Self.concurrency } }
      // The clock does not run ahead here, because the process has five seconds to stop.
      daemon.signal(stop == .killed ? SIGKILL : SIGTERM)
      let outcome = try await daemon.end()
      #expect(outcome.exit == (stop == .killed ? -SIGKILL : 0), "\(outcome.error)")
      site.upstream.release()
      unbooked = (site.upstream.counts, stop, began, clock.now)
      number += 1
      prepare()
    }
    try configure()
  }

  /// Writes the configuration for the next process.
  private func configure() throws {
    budget = plan.budget(at: number)
    site.settings["ROSTERD_LIMIT_BUDGET"] = "\(budget)/1d"
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../config/sources")
    let file = try String(contentsOf: sources.appending(path: "rickandmorty.toml"), encoding: .utf8)
    let character = try #require(file.firstRange(of: "[resource.character]")?.lowerBound)
    let next = try #require(file.firstRange(of: "[resource.location]")?.lowerBound)
    var text = String(file[character..<next])
    switch plan.redefinitions(at: number) {
    case 0: text.replace(#"image = "/image""#, with: "")
    case 2: text.replace("\"/gender\"", with: #"{ at = "/gender", type = "text", null = true }"#)
    default: break
    }
    try FileManager.default.createDirectory(atPath: "\(site.folder)/etc", withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: "\(site.folder)/etc/rosterd.toml"))
  }
}
