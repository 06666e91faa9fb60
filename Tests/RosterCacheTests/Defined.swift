import FoundationEssentials
import RosterCore
import RosterDecode
import Testing

@testable import RosterCache

extension Folder {
  var pulled: String { cache + ".next" }

  /// Number of pages in `next`.
  func stagedPages() throws -> Int {
    let database = try Database(path: pulled, access: .readOnly)
    defer { database.close() }
    return try database.count("SELECT count(*) FROM main.page")
  }

  /// The files of `next`, and their contents.
  func staged() throws -> [String: Data] {
    try ["roster.db.next", "roster.db.next-wal"].reduce(into: [:]) { $0[$1] = try bytes($1) }
  }

  func write(staged: [String: Data]) throws { for (name, bytes) in staged { try write(bytes, to: name) } }

  /// A cache of definitions.
  func define(
    _ resources: [Resource] = [.character], upstream: String = upstream, tick: @escaping @Sendable () -> Void = {}
  ) async throws -> Cache {
    try await Cache.open(path: cache, upstream: upstream, resources: resources, now: noon, logger: quiet, tick: tick)
  }

  /// A cache of the built-in definition, after a first sync.
  func mirrored(
    _ pages: [[String]?], removal: RemovalDecision.Removal = .asDefined, at date: Date = noon
  ) async throws -> Cache {
    let cache = try await define()
    _ = try await cache.mirror(pages, removal: removal, at: date)
    return cache
  }

  /// A cache of one definition, after a first sync.
  func mirrored(_ resource: Resource, pages: [[String]?]) async throws -> Cache {
    let cache = try await define([resource])
    _ = try await cache.mirror(resource, pages: pages)
    return cache
  }

  /// A copy of the files in another folder, as a process finds them after a kill.
  func copy() throws -> Folder {
    let other = Folder()
    for name in try names() { try other.write(bytes(name), to: name) }
    return other
  }

  func tables(_ resources: [Resource]) throws -> [ResourceTables] { try resources.map { try ResourceTables($0) } }

  func expectSound(
    _ resources: [Resource] = [.character], closing cache: Cache, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    await cache.close()
    try expectSound(resources, sourceLocation: sourceLocation)
  }

  /// SQLite's own check, the indexes against their tables, and the private tables against the records.
  func expectSound(_ resources: [Resource] = [.character], sourceLocation: SourceLocation = #_sourceLocation) throws {
    let database = try Database(path: cache, access: .writer)
    try database.keepLog()
    for table in try tables(resources) {
      if let check = table.checkIndex(rank: 1) { try database.execute(check) }
      let id = try database.first("SELECT id FROM cache_resources WHERE name = '\(table.resource.name)'") {
        $0.integer(0)
      }
      var listed: Set<String> = []
      for keys in try database.rows(
        "SELECT keys FROM cache_pages WHERE kind = 0 AND list_id = ?", Value(id), read: { $0.bytes(0) })
      {
        keys.forEachKey(isText: table.hasTextKey) { listed.insert($0.name) }
      }
      let unlisted = try database.rows(
        """
        SELECT \(table.key(of: "t")) FROM cache_unlisted u JOIN \(table.table) t ON t.\(table.id) = u.record_id
        WHERE u.list_id = ?
        """, Value(id), read: { $0.text(0) })
      let all = try database.rows("SELECT \(table.key(of: "t")) FROM \(table.table) t") { $0.text(0) }
      #expect(listed.isDisjoint(with: unlisted), sourceLocation: sourceLocation)
      #expect(listed.union(unlisted) == Set(all), sourceLocation: sourceLocation)
    }
    #expect(try database.first("PRAGMA integrity_check") { $0.text(0) } == "ok", sourceLocation: sourceLocation)
  }
}

extension RecordKey {
  var name: String {
    switch self {
    case .integer(let number): "\(number)"
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    }
  }
}

/// A record of the shape of the built-in resource.
func person(_ id: Int64, mark: String = "", episodes: [String] = ["e/1", "e/2"], more: String = "") -> String {
  let list = episodes.map { "\"\($0)\"" }.joined(separator: ",")
  return """
    {"id":\(id),"name":"Name \(id)\(mark)","status":"Alive\(mark)","species":"Human","type":"","gender":"unknown",\
    "origin":{"name":"Earth (C-137)","url":"o"},"location":{"name":"Citadel","url":"l"},"image":"i/\(id)",\
    "episode":[\(list)],"url":"u/\(id)","created":"2017-11-04T18:48:46.250Z"\(more)}
    """
}

func people(_ ids: some Sequence<Int>, mark: String = "") -> [String] { ids.map { person(Int64($0), mark: mark) } }

/// Pages of two.
func paired(_ records: [String]) -> [[String]] {
  stride(from: 0, to: records.count, by: 2).map { Array(records[$0..<min($0 + 2, records.count)]) }
}

func answer(_ records: [String]) -> [UInt8] {
  Array("{\"info\":{\"count\":1,\"pages\":1},\"results\":[\(records.joined(separator: ","))]}".utf8)
}

func address(_ number: Int) -> String { "/page?page=\(number)" }

/// One sync of one or several resources: identical pages are confirmed, and the others are appended.
struct Pull {
  let cache: Cache
  var validators = true

  func received(
    _ resource: Resource, _ number: Int, _ records: [String], address other: String? = nil, etag: String? = nil
  ) async throws -> PageBody {
    let body = answer(records)
    var decoder = RecordDecoder(try RecordPlan(resource))
    return PageBody(
      resource: resource.name, number: number, address: other ?? address(number),
      validator: Validator(etag: etag ?? (validators ? "\"\(number)\"" : nil)), receivedAt: noon, body: body,
      digest: try await cache.digest(body), scan: try decoder.scan(page: body))
  }

  /// - Parameter pages: `nil` is a page that upstream calls unchanged.
  func pages(_ resource: Resource, pages: [[String]?]) async throws {
    let addresses = pages.indices.map { address($0 + 1) }
    let known = try await cache.known(resource.name, addresses: addresses)
    for (index, records) in pages.enumerated() {
      let page = known[addresses[index]]
      var isSame = false
      if let page, page.state == .published {
        if let records { isSame = try await cache.digest(answer(records)) == page.digest } else { isSame = true }
      }
      if let page, isSame {
        try await cache.confirm(resource.name, pages: [ConfirmedPage(number: index + 1, page: page)])
      } else {
        try await cache.append([received(resource, index + 1, try #require(records))])
      }
    }
  }

  func answers(_ resource: Resource, records: [String]) async throws {
    let body = Array("[\(records.joined(separator: ","))]".utf8)
    var decoder = RecordDecoder(try RecordPlan(resource))
    let scan = try decoder.scan(answer: body)
    try await cache.keep(
      PageBody(
        resource: resource.name, number: 0, address: "keys", receivedAt: noon, body: body,
        digest: try await cache.digest(body), scan: scan), notFound: [])
  }
}

extension Cache {
  /// A whole sync of the built-in resource.
  func mirror(
    _ pages: [[String]?], answers: [String] = [], removal: RemovalDecision.Removal = .asDefined, at date: Date = noon
  ) async throws -> SyncRecord {
    try await mirror(.character, pages: pages, answers: answers, removal: removal, at: date)
  }

  /// The begin of a sync that pulls these pages of one resource, up to its comparison.
  func pull(_ resource: Resource = .character, pages: [[String]?]) async throws -> SyncRecord {
    let record = try begin(at: noon)
    try await Pull(cache: self).pages(resource, pages: pages)
    _ = try compare()
    return record
  }

  func publish(_ record: SyncRecord, decisions: [String: RemovalDecision] = [:]) throws -> SyncRecord {
    try publish(record, decisions: decisions, at: noon, history: ninetyDays)
  }

  /// A whole sync of one resource.
  func mirror(
    _ resource: Resource, pages: [[String]?], answers: [String] = [],
    removal: RemovalDecision.Removal = .asDefined, at date: Date = noon
  ) async throws -> SyncRecord {
    let record = try begin(at: date)
    let pull = Pull(cache: self)
    try await pull.pages(resource, pages: pages)
    _ = try compare()
    if !answers.isEmpty { try await pull.answers(resource, records: answers) }
    return try publish(
      record, decisions: [resource.name: RemovalDecision(removal, proof: .count)], at: date, history: ninetyDays)
  }
}

/// A resource with text keys, every type of column, and lists of both kinds.
let issue = Resource(
  name: "issue", path: "/issues", records: at("results"), key: at("node"),
  table: "issues", search: ["title"], removal: .twice, pages: .init(.link),
  columns: [
    .init("node", at: at("node")), .init("title", at: at("title")),
    .init("number", at: at("number"), .integer),
    .init("score", at: at("score"), .real),
    .init("locked", at: at("locked"), .boolean),
    .init("closed_at", at: at("closed_at"), isNullable: true),
    .init("reactions", at: at("reactions"), .json),
  ],
  lists: [
    .init(
      table: "issue_labels", at: at("labels"),
      columns: [
        .init("name", at: at("name")), .init("color", at: at("color")),
      ]),
    .init(table: "issue_flags", at: at("flags"), columns: [.init("flag", at: JSONPointer(), .boolean)]),
  ])
