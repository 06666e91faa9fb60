import FoundationEssentials
import RosterCore
import Synchronization

/// An upstream of three levels: documents, their items, and the parts of each item. Each has a revision that its parent
/// shares, and each document has a detail.
final class Forest: Sendable {
  struct Item: Sendable, Equatable {
    var revision = 1
    var parts: [String: Int] = [:]
  }

  struct Document: Sendable, Equatable {
    var revision = 1
    var items: [Int: Item] = [:]
  }

  struct State: Sendable {
    var documents: [Int: Document] = [:]
    /// Statuses by target, which win over the lists.
    var statuses: [String: Int] = [:]
    /// Headers of the answers with these statuses.
    var headers: [Request.Header] = []
    /// Answers by target, which win over the lists.
    var bodies: [String: String] = [:]
    /// True if answers leave out empty lists.
    var omitsEmptyLists = false
    /// Number of requests after which each is answered with 429; nil for no limit.
    var patience: Int?
    /// The declared number of items is wrong that many times.
    var wrongCounts = 0
    var requests = 0
    private var revisions = 100

    init(documents: [Int: Document]) { self.documents = documents }

    /// A revision that nothing has had yet.
    mutating func nextRevision() -> Int {
      revisions += 1
      return revisions
    }
  }

  private let state: Mutex<State>

  init(_ documents: [Int: Document]) { state = Mutex(State(documents: documents)) }

  @discardableResult
  func update<Value: Sendable>(_ change: (inout State) -> Value) -> Value { state.withLock { change(&$0) } }

  var documents: [Int: Document] { state.withLock { $0.documents } }

  /// Documents 1 to `count` with two items each, the first of which has a part.
  static func documents(_ count: Int) -> [Int: Document] {
    Dictionary(
      uniqueKeysWithValues: (1...count).map { ($0, Document(items: [1: .init(parts: ["a": $0]), 2: .init()])) })
  }

  /// A bench whose upstream has these documents.
  static func bench(_ documents: [Int: Document]) throws -> (SyncBench, Forest) {
    let (bench, forest) = (try SyncBench([:]), Forest(documents))
    bench.shelf.answer { _, target in forest.answer(target) }
    return (bench, forest)
  }

  /// The same after a first sync, whose requests are forgotten.
  static func synced(
    _ documents: [Int: Document], with resources: [Resource] = all
  ) async throws -> (SyncBench, Forest) {
    let (bench, forest) = try bench(documents)
    _ = try await bench.sync(resources)
    _ = bench.asked()
    return (bench, forest)
  }

  /// Changes these documents, and answers the lists of their items with a status.
  func failItems(of documents: some Sequence<Int>, with status: Int) {
    update { state in
      for id in documents {
        state.documents[id]?.revision += 1
        state.statuses["/docs/\(id)/items"] = status
      }
    }
  }

  private func answer(_ target: String) -> Response {
    state.withLock { state in
      state.requests += 1
      if let patience = state.patience, state.requests > patience { return Response(status: 429) }
      if let status = state.statuses[target] { return Response(status: status, headers: state.headers) }
      guard let body = state.bodies[target] ?? Self.body(target, &state) else { return Response(status: 404) }
      return Response(json: body, headers: [Shelf.date])
    }
  }

  private static let pageSize = 3

  private static func body(_ target: String, _ state: inout State) -> String? {
    let parts = target.split(separator: "?")[0].split(separator: "/").map(String.init)
    if parts == ["docs"] { return page(target, state) }
    guard parts.count > 1, parts[0] == "docs", let id = Int(parts[1]), let document = state.documents[id] else {
      return nil
    }
    if parts.count == 2 { return json(id, document) }
    if parts[2] == "detail" { return #"{"text":"detail \#(id) \#(document.revision)"}"# }
    guard parts[2] == "items" else { return nil }
    let since = target.split(separator: "=").last.flatMap { Int($0) }
    if parts.count == 3 { return items(document, since: since, &state) }
    guard let key = Int(parts[3]), let item = document.items[key] else { return nil }
    if parts.count == 4 { return json(key, item) }
    let found = item.parts.sorted { $0.key < $1.key }.map { #"{"name":"\#($0.key)","value":\#($0.value)}"# }
    if parts.count == 5, found.isEmpty, state.omitsEmptyLists { return "{}" }
    if parts.count == 5 { return #"{"list":[\#(found.joined(separator: ","))]}"# }
    return item.parts[parts[5]].map { #"{"name":"\#(parts[5])","value":\#($0)}"# }
  }

  private static func page(_ target: String, _ state: State) -> String {
    let number = target.split(separator: "=").last.flatMap { Int($0) } ?? 1
    let all = state.documents.sorted { $0.key < $1.key }.map { json($0.key, $0.value) }
    let shown = all.dropFirst((number - 1) * pageSize).prefix(pageSize).joined(separator: ",")
    let pages = max(1, (all.count + pageSize - 1) / pageSize)
    return #"{"count":\#(all.count),"pages":\#(pages),"list":[\#(shown)]}"#
  }

  private static func items(_ document: Document, since: Int?, _ state: inout State) -> String {
    let shown = document.items.filter { $0.value.revision >= since ?? 0 }.sorted { $0.key < $1.key }.map {
      json($0.key, $0.value)
    }
    let isWrong = state.wrongCounts > 0
    if isWrong { state.wrongCounts -= 1 }
    if shown.isEmpty, !isWrong, state.omitsEmptyLists { return "{}" }
    return #"{"count":\#(shown.count + (isWrong ? 1 : 0)),"list":[\#(shown.joined(separator: ","))]}"#
  }

  private static func json(_ id: Int, _ document: Document) -> String {
    #"{"id":\#(id),"rev":\#(document.revision),"size":\#(document.items.count)}"#
  }

  private static func json(_ id: Int, _ item: Item) -> String { #"{"id":\#(id),"rev":\#(item.revision)}"# }

  // MARK: Definitions

  private static let id = Resource.Column("id", at: at("id"), .integer)
  private static let revision = Resource.Column("rev", at: at("rev"), .integer)

  /// The documents.
  static func document(removal: Resource.Removal = .ask) -> Resource {
    Resource(
      name: "doc", path: "/docs", records: at("list"), table: "docs", byKey: removal == .ask ? "/docs/{key}" : nil,
      removal: removal, pages: .init(.number(last: .body(at("pages"))), count: .body(at("count"))),
      columns: [id, revision, .init("size", at: at("size"), .integer)])
  }

  /// The items of each document.
  static func item(_ each: Each = Each(of: "doc", changed: ["rev"])) -> Resource {
    Resource(
      name: "item", path: "/docs/{doc.id}/items", records: at("list"), table: "items", search: [],
      byKey: "/docs/{doc.id}/items/{key}", pages: .init(.one, count: .body(at("count"))), columns: [id, revision],
      each: each)
  }

  /// The same, by revision.
  static let changedItem: Resource = {
    var item = Forest.item()
    item.since = Since(
      at: at("rev"), param: .query("since"), form: .number, wholeEvery: .seconds(5000), listing: item.listing)
    return item
  }()

  /// The parts of each item.
  static let part = Resource(
    name: "part", path: "/docs/{doc.id}/items/{item.id}/parts", records: at("list"), key: at("name"), table: "parts",
    byKey: "/docs/{doc.id}/items/{item.id}/parts/{key}", pages: .init(.one),
    columns: [.init("name", at: at("name")), .init("value", at: at("value"), .integer)],
    each: Each(of: "item", changed: ["rev"]))

  /// The detail of each document.
  static let detail = Resource(
    name: "detail", path: "/docs/{doc.id}/detail", table: "details", pages: .init(.record),
    columns: [.init("text", at: at("text"))], each: Each(of: "doc", changed: ["rev"]))

  static let all = [part, item(), detail, document()]
  static let incremental = [part, changedItem, detail, document()]

  // MARK: Tables

  /// The expected records of all tables, one line for each.
  var lines: [String] {
    documents.flatMap { id, document in
      ["doc \(id) \(document.revision)", "detail \(id) detail \(id) \(document.revision)"]
        + document.items.flatMap { key, item in
          ["item \(id) \(key) \(item.revision)"] + item.parts.map { "part \(id) \(key) \($0.key) \($0.value)" }
        }
    }.sorted()
  }

  /// True if the line is that of an item that upstream does not have any more, or of a part of it.
  func isOfGoneItem(_ line: String) -> Bool {
    let words = line.split(separator: " ")
    guard words[0] == "item" || words[0] == "part", let id = Int(words[1]), let key = Int(words[2]) else {
      return false
    }
    return documents[id].map { $0.items[key] == nil } ?? false
  }

  /// The records of all tables, one line for each.
  static func lines(in bench: SyncBench) throws -> [String] {
    let queries = [
      "SELECT 'doc ' || id || ' ' || rev FROM docs", "SELECT 'detail ' || doc_id || ' ' || text FROM details",
      "SELECT 'item ' || doc_id || ' ' || id || ' ' || rev FROM items",
      """
      SELECT 'part ' || i.doc_id || ' ' || i.id || ' ' || p.name || ' ' || p.value FROM parts p
      LEFT JOIN items i ON i.record_id = p.item_id
      """,
    ]
    return try queries.flatMap { try bench.ask($0) }.sorted()
  }
}
