import FoundationEssentials
import RosterCore
import RosterSync
import Synchronization
import Testing

@testable import RosterCache

/// Validators of pages of child lists, of which a sync requests only those of changed parents.
struct ChildAuditTests {
  private static let day = 86_400.0

  private static let resources: [Resource] = {
    let id = Resource.Column("id", at: at("id"), .integer)
    let issue = Resource(
      name: "issue", path: "/issues", records: at("list"), table: "issues", removal: .twice, pages: .init(.one),
      columns: [id, .init("rev", at: at("rev"), .integer)])
    let comment = Resource(
      name: "comment", path: "/issues/{issue.id}/comments", records: at("list"), table: "comments", removal: .twice,
      pages: .init(.one), columns: [id, .init("text", at: at("text"))], each: Each(of: "issue", changed: ["rev"]))
    return [issue, comment]
  }()

  /// Ten issues with a list each. The validator of a list never changes.
  private static func serve(_ bench: SyncBench, revision: Int, text: String = "") {
    bench.shelf.answer { request, target in
      if target == "/issues" {
        let all = (1...10).map { #"{"id":\#($0),"rev":\#(revision)}"# }
        return Response(json: #"{"list":[\#(all.joined(separator: ","))]}"#, headers: [Shelf.date])
      }
      let body = #"{"list":[{"id":1,"text":"\#(text)"}]}"#
      return Response(json: body, headers: [Shelf.date], tag: "\"fixed\"", to: request)
    }
  }

  private static func synced(_ resources: [Resource] = resources) async throws -> SyncBench {
    let bench = try SyncBench([:])
    serve(bench, revision: 1)
    _ = try await bench.sync(resources)
    return bench
  }

  private static func transferred(_ bench: SyncBench) -> [String] {
    bench.shelf.asked().filter { $0.target.hasSuffix("/comments") && $0.status == 200 }.map(\.target)
  }

  @Test("20: a list that is requested again after the period is transferred, and each list once in a period")
  func due() async throws {
    let bench = try await Self.synced()
    #expect(Self.transferred(bench).count == 10)
    Self.serve(bench, revision: 2)
    #expect(try await bench.sync(Self.resources, after: 2 * Self.day).error == nil)
    #expect(Self.transferred(bench).count == 10)
    // No list is requested, so that no validator confirms a page.
    _ = try await bench.sync(Self.resources, after: 2.5 * Self.day)
    #expect(Self.transferred(bench).isEmpty)
    Self.serve(bench, revision: 3)
    _ = try await bench.sync(Self.resources, after: 4 * Self.day)
    #expect(Self.transferred(bench).count == 10)
    var audited: [String] = []
    for part in 1...8 {
      Self.serve(bench, revision: 3 + part)
      _ = try await bench.sync(Self.resources, after: (4 + Double(part) / 8) * Self.day)
      audited += Self.transferred(bench)
    }
    #expect(audited.count == 10 && Set(audited).count == 10)
  }

  @Test("20: the validator of a child list that lies is found, and all lists are pulled without it")
  func lie() async throws {
    let bench = try await Self.synced()
    Self.serve(bench, revision: 2, text: "other")
    let record = try await bench.sync(Self.resources, after: 2 * Self.day)
    #expect(record.isDegraded && record.trouble?.kind == .validators)
    #expect(try bench.ask("SELECT DISTINCT text FROM comments") == ["other"])
  }

  @Test("20: a child with the same addresses as the one whose validator lied is distrusted too")
  func sameAddresses() async throws {
    var resources = Self.resources
    var other = resources[1]
    (other.name, other.table, other.auditEvery) = ("remark", "remarks", nil)
    other.records = at("list")
    resources.append(other)
    let bench = try await Self.synced(resources)
    Self.serve(bench, revision: 2, text: "other")
    let record = try await bench.sync(resources, after: 2 * Self.day)
    #expect(record.error?.contains("other records of comment on page 1") == true, "\(record.error ?? "")")
    #expect(
      try bench.ask("SELECT name FROM resources WHERE validators = 'distrusted' ORDER BY name")
        == ["comment", "remark"])
    #expect(
      try bench.ask("SELECT DISTINCT text FROM comments UNION ALL SELECT DISTINCT text FROM remarks")
        == ["other", "other"])
  }

  @Test("18, 40: a list that drifts beside a validator that lies is pulled again without its stale pages")
  func driftBesideLie() async throws {
    let bench = try SyncBench([:])
    let part = Resource(
      name: "part", path: "/issues/{issue.id}/parts", records: at("list"), table: "parts", removal: .twice,
      pages: .init(.number(last: .body(at("last")))), columns: [.init("id", at: at("id"), .integer)],
      each: Each(of: "issue", changed: ["rev"]))
    let upstream = Mutex((revision: 1, firstPages: 0))
    bench.shelf.answer { request, _ in
      let (revision, firstPages) = upstream.withLock { state in
        if request.url.contains("/parts"), !request.url.contains("page=2"), !request.url.contains("page=3") {
          state.firstPages += 1
        }
        return state
      }
      // The list shrinks while the second sync pulls it.
      if request.url.hasSuffix("page=3") { return Response(status: 404) }
      let ids = request.url.hasSuffix("page=2") ? [3, 4] : [1, 2]
      let records =
        request.url.hasSuffix("/issues")
        ? #"{"id":1,"rev":\#(revision)}"#
        : request.url.hasSuffix("/comments")
          ? #"{"id":1,"text":"\#(revision)"}"# : ids.map { #"{"id":\#($0)}"# }.joined(separator: ",")
      return Response(
        json: #"{"last":\#(firstPages == 2 ? 3 : 1),"list":[\#(records)]}"#,
        headers: request.url.hasSuffix("/comments") ? [.init("ETag", "\"fixed\"")] : [])
    }
    let resources = Self.resources + [part]
    #expect(try await bench.sync(resources).error == nil)
    upstream.withLock { $0.revision = 2 }
    let record = try await bench.sync(resources, after: 60)
    #expect(record.trouble?.kind == .validators, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT id FROM parts ORDER BY 1") == ["1", "2"])
  }
}
