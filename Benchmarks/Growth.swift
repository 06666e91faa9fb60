import ArgumentParser
import CSQLite
import FoundationEssentials
import GrowthKinds
import RosterCache
import RosterCore

/// Compares the CPU time of each kind of sync, and of reading a large cache, at two sizes. It must grow with the number
/// of records and not with its square.
struct Growth: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Times each kind of sync at two sizes. Fails where 4 times the size costs more than 6 times (since: 1.5 times)."
  )

  /// Linear cost gives a ratio of 4, quadratic cost 16. The margin is for processor caches and a busy machine.
  private static let limit = 6.0

  @Option(help: "Records of the smaller sync.") var records = 2_500
  @Option(help: "Changes of the smaller cache that is pruned and followed.") var changes = 250_000
  @Option(help: "How often each is timed; the least counts.") var rounds = 2

  func run() async throws {
    print("\("".padded(to: 44))     n, ms    4n, ms   ratio")
    var slow: [String] = []
    for measured in syncs + readers + [since] {
      let (few, many) = try await least(of: measured)
      let ratio = many / few
      let columns = [(few / 1e6, 10), (many / 1e6, 10), (ratio, 8)]
        .map { Report.text($0.0).padded(to: $0.1, before: true) }
      print("\(measured.name.padded(to: 44))\(columns.joined())")
      if ratio > measured.limit {
        slow.append("\(measured.name): \(Report.text(ratio)) times the cost for 4 times the size")
      }
    }
    for line in slow { print(line) }
    if !slow.isEmpty { throw ExitCode.failure }
  }

  private struct Measured {
    let name: String
    let size: Int
    var limit = Growth.limit
    /// Nanoseconds of CPU time at a size.
    let cost: (Int) async throws -> Double
  }

  private func least(of measured: Measured) async throws -> (few: Double, many: Double) {
    var (few, many) = (Double.infinity, Double.infinity)
    for _ in 0..<max(rounds, 1) {
      few = min(few, try await measured.cost(measured.size))
      many = min(many, try await measured.cost(4 * measured.size))
    }
    return (few, many)
  }

  private var syncs: [Measured] {
    GrowthKind.allCases.flatMap { kind in
      [false, true].flatMap { isText in
        [true, false].map { hasValidators -> Measured in
          let name = "\(kind.rawValue), \(isText ? "text" : "integer")\(hasValidators ? ", ETag" : "")"
          return Measured(name: name, size: kind == .manyRows ? records / 4 : records) { count in
            try await GrowthSync(kind: kind, isText: isText, hasValidators: hasValidators).cost(count)
          }
        }
      }
    }
  }

  private var since: Measured {
    Measured(name: "3 changed, since", size: 10 * records, limit: 1.5) { try await SinceSync.cost($0) }
  }

  private var readers: [Measured] {
    [
      Measured(name: "pruning changes", size: changes, cost: LargeCache.pruning),
      Measured(name: "/v1/changes, all of them", size: changes, cost: LargeCache.following),
      Measured(name: "list --search, all found", size: 4 * records, cost: LargeCache.searching),
      Measured(name: "pending, all changed", size: records, cost: LargeCache.pending),
    ]
  }
}

/// One sync of a kind, after another sync that prepared the cache.
private struct GrowthSync {
  let kind: GrowthKind
  let isText: Bool
  let hasValidators: Bool

  func cost(_ count: Int) async throws -> Double {
    try await Folder.with { folder in
      if kind != .first { _ = try await sync(count, isAfter: false, folder) }
      return try await sync(count, isAfter: true, folder)
    }
  }

  /// The cost includes opening the cache, where another definition rebuilds its tables.
  func sync(_ count: Int, isAfter: Bool, _ folder: Folder) async throws -> Double {
    let resource = kind.resource(isText: isText, isAfter: isAfter)
    let upstream = MemoryUpstream(
      isAfter ? kind.after(count) : kind.before(count), present: isAfter ? kind.present(count) : [], isText: isText,
      hasValidators: hasValidators)
    return try await CPUTime.spent {
      let cache = try await folder.cache([resource])
      let sync = BenchSync(
        resources: [resource], baseURL: MemoryUpstream.baseURL, send: upstream.send, cache: cache, folder: folder)
      try await sync.run(
        SyncRequest(allowRemoval: true, isDryRun: isAfter && kind == .dryRun),
        expecting: isAfter ? kind.outcome : .published)
      await cache.close()
    }
  }
}

/// Incremental syncs that receive three changed records, after a whole pull of many.
private enum SinceSync {
  private static let rounds = 10

  private static var resource: Resource {
    var resource = GrowthKind.changed.resource(isText: false, isAfter: false)
    resource.since = Since(
      at: JSONPointer(segments: ["id"]), param: .query("since"), form: .number, listing: resource.listing)
    return resource
  }

  static func cost(_ count: Int) async throws -> Double {
    let numbers = [1, count / 2, count]
    return try await Folder.with { folder in
      let all = GrowthKind.first.after(count)
      _ = try await sync(MemoryUpstream(all, present: [], isText: false, hasValidators: false), folder)
      var spent = 0.0
      for round in 1...rounds {
        var changed = numbers.map { all[$0 - 1] }
        for index in changed.indices { changed[index].mark = "\(round)" }
        spent += try await sync(MemoryUpstream(changed, present: [], isText: false, hasValidators: false), folder)
      }
      return spent / Double(rounds)
    }
  }

  private static func sync(_ upstream: MemoryUpstream, _ folder: Folder) async throws -> Double {
    try await CPUTime.spent {
      let cache = try await folder.cache([resource])
      let sync = BenchSync(
        resources: [resource], baseURL: MemoryUpstream.baseURL, send: upstream.send, cache: cache, folder: folder)
      try await sync.run(expecting: .published)
      await cache.close()
    }
  }
}

/// Operations on a cache with much content.
private enum LargeCache {
  private static let changed = GrowthSync(kind: .changed, isText: false, hasValidators: true)
  private static let resource = GrowthKind.changed.resource(isText: false, isAfter: false)
  private static let old = Date().addingTimeInterval(-2 * 86_400)

  static func pruning(_ changes: Int) async throws -> Double {
    try await filled(changes) { folder in
      let cache = try await folder.cache([resource])
      var record = try await cache.begin(at: Date())
      record.outcome = .failed
      let spent = try await CPUTime.spent { try await cache.end(record, at: Date(), history: .seconds(86_400)) }
      await cache.close()
      return spent
    }
  }

  static func following(_ changes: Int) async throws -> Double {
    try await filled(changes) { folder in
      let reader = try CacheReader(path: "\(folder.path)/roster.db")
      var position = FeedPosition()
      var found = 0
      let spent = try await CPUTime.spent {
        while case .page(let page) = try reader.feed(position, limit: 1_000) {
          found += page.changes.count
          position = FeedPosition(feed: page.feed, seen: page.last)
          if page.isWhole { break }
        }
      }
      guard found == changes else { throw NotMeasured(what: "\(found) changes") }
      return spent
    }
  }

  static func searching(_ records: Int) async throws -> Double {
    try await Folder.with { folder in
      _ = try await changed.sync(records, isAfter: false, folder)
      let reader = try CacheReader(path: "\(folder.path)/roster.db")
      return try await CPUTime.spent {
        let found = try reader.list(resource.name, search: "name").total
        guard found == records else { throw NotMeasured(what: "\(found) records") }
      }
    }
  }

  static func pending(_ records: Int) async throws -> Double {
    let tried = GrowthSync(kind: .dryRun, isText: false, hasValidators: true)
    return try await Folder.with { folder in
      _ = try await tried.sync(records, isAfter: false, folder)
      _ = try await tried.sync(records, isAfter: true, folder)
      let reader = try CacheReader(path: "\(folder.path)/roster.db")
      return try await CPUTime.spent {
        let found = try reader.pending().pull.resources.map(\.changed)
        guard found == [records] else { throw NotMeasured(what: "\(found) changed records") }
      }
    }
  }

  /// A small cache with many old changes.
  private static func filled(_ changes: Int, _ body: (Folder) async throws -> Double) async throws -> Double {
    try await Folder.with { folder in
      _ = try await changed.sync(100, isAfter: false, folder)
      try execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(changes))
        INSERT INTO changes(sync_id, resource, record_id, kind, at, before, after)
        SELECT 1, 'thing', i % 100 + 1, 'changed', '\(old.rfc3339)', '{"name":"before"}', '{"name":"after"}' FROM n
        """, "\(folder.path)/roster.db")
      return try await body(folder)
    }
  }

  private static func execute(_ sql: String, _ path: String) throws {
    var database: OpaquePointer?
    defer { sqlite3_close(database) }
    guard sqlite3_open(path, &database) == SQLITE_OK, sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
      throw NotMeasured(what: String(cString: sqlite3_errmsg(database)))
    }
  }
}
