import FoundationEssentials
import Logging
import RosterCache
import RosterCore
import RosterDecode

/// The cache's part of a sync, without upstream, in nanoseconds a page.
struct CacheParts {
  var append = 0.0
  var publishFirst = 0.0
  var publishChanged = 0.0

  static func timed(_ list: List) async throws -> CacheParts {
    try await Folder.with { folder in
      let cache = try await folder.cache([.character])
      var parts = CacheParts()
      let pages = Double(list.bodies.count)
      let received = try await received(list, list.bodies[...], of: .character, by: cache)
      let first = try await cache.begin(at: Date())
      parts.append = try await CPUTime.spent { try await append(received, to: cache) } / pages
      parts.publishFirst = try await CPUTime.spent { try await publish(first, in: cache) } / pages
      let second = try await cache.begin(at: Date())
      parts.publishChanged =
        try await CPUTime.spent {
          try await confirm(Array(received.dropLast()), in: cache)
          try await cache.append([changed(received[received.count - 1], by: cache)])
          try await publish(second, in: cache)
        } / pages
      await cache.close()
      return parts
    }
  }

  /// The same records as two resources with half the pages each, appended and published for the first time.
  static func timedAsTwo(_ list: List) async throws -> Double {
    var other = Resource.character
    (other.name, other.table, other.lists[0].table) = ("person", "persons", "person_episodes")
    let resources = [Resource.character, other]
    return try await Folder.with { folder in
      let cache = try await folder.cache(resources)
      let half = list.bodies.count / 2
      let parts = try await [
        received(list, list.bodies[..<half], of: resources[0], by: cache),
        received(list, list.bodies[half...], of: resources[1], by: cache),
      ]
      let record = try await cache.begin(at: Date())
      let spent = try await CPUTime.spent {
        for part in parts { try await append(part, to: cache) }
        try await publish(record, in: cache)
      }
      await cache.close()
      return spent / Double(list.bodies.count)
    }
  }

  /// The number of pages that a sync's stage appends together if upstream is fast.
  private static let batch = 16

  private static func append(_ pages: [PageBody], to cache: Cache) async throws {
    for start in stride(from: 0, to: pages.count, by: batch) {
      try await cache.append(Array(pages[start..<min(start + batch, pages.count)]))
    }
  }

  private static func publish(_ record: SyncRecord, in cache: Cache) async throws {
    _ = try await cache.compare(Resource.character.name) { _, _ in nil }
    let published = try await cache.publish(
      record, decisions: [:], at: Date(), history: .seconds(86_400))
    guard published.outcome == .published else { throw NotMeasured(what: "\(published.outcome)") }
  }

  private static func confirm(_ pages: [PageBody], in cache: Cache) async throws {
    for start in stride(from: 0, to: pages.count, by: batch) {
      let some = pages[start..<min(start + batch, pages.count)]
      let known = try await cache.known(Resource.character.name, addresses: some.map(\.address))
      let confirmed = some.compactMap { page in
        known[page.address].map { ConfirmedPage(number: page.number, page: $0) }
      }
      try await cache.confirm(Resource.character.name, pages: confirmed)
    }
  }

  private static func received(
    _ list: List, _ bodies: ArraySlice<[UInt8]>, of resource: Resource, by cache: Cache
  ) async throws -> [PageBody] {
    let digest = try await cache.digest
    return try bodies.enumerated().map { index, body in
      PageBody(
        resource: resource.name, number: index + 1, address: "/character?page=\(index + 1)",
        validator: Validator(etag: "\"\(index)\""), receivedAt: Date(), body: body, digest: digest(body),
        scan: try list.scan(body))
    }
  }

  /// The page with one changed text in its first record.
  private static func changed(_ page: PageBody, by cache: Cache) async throws -> PageBody {
    var page = page
    let text = String(decoding: page.body, as: UTF8.self)
    page.body = Array(text.replacing("\"name\":\"", with: "\"name\":\"New ", maxReplacements: 1).utf8)
    var decoder = RecordDecoder(try RecordPlan(.character))
    page.scan = try decoder.scan(page: page.body)
    page.digest = try await cache.digest(page.body)
    return page
  }
}

/// The measured work had another result than intended.
struct NotMeasured: Error, CustomStringConvertible {
  var what: String
  var description: String { "this is not what was to be measured: \(what)" }
}

/// A folder that is removed after its use.
struct Folder {
  let path: String

  static func with<Value>(_ body: (Folder) async throws -> Value) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appending(path: "rosterd-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(Folder(path: folder.path))
  }

  func cache(_ resources: [Resource]) async throws -> Cache {
    try await Cache.open(
      path: "\(path)/roster.db", upstream: "http://bench", resources: resources, now: Date(), logger: .silent)
  }
}

extension Logger {
  static var silent: Logger { Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() } }
}
