import FoundationEssentials
import RosterFetch
import RosterModel
import Testing

@testable import RosterCache
@testable import RosterSync

/// Lists of children that have the same address.
struct SharedListTests {
  private static let id = Resource.Column("id", at: at("id"), .integer)

  private static func issue(_ change: (inout Resource) -> Void = { _ in }) -> Resource {
    var issue = Resource(
      name: "issue", path: "/issues", records: at("list"), table: "issues", removal: .twice, pages: .init(.one),
      columns: [id, .init("milestone", at: at("milestone"))])
    change(&issue)
    return issue
  }

  private static func child(
    _ name: String, path: String = "/issues/{issue.id}/comments", column: String = "text",
    pages: Resource.Pages = .init(.next(at: .body(at("next")))), each: Each = Each(of: "issue")
  ) -> Resource {
    Resource(
      name: name, path: path, records: at("list"), table: "\(name)s", removal: .twice, pages: pages,
      columns: [id, .init(column, at: at(column))], each: each)
  }

  /// Issues 1 to `count`, the comments of each on two pages, and their milestones.
  private static func serve(_ bench: SyncBench, issues count: Int, tag: String? = nil, status: Int = 200) {
    bench.shelf.answer { request, target in
      let body: String
      if target == "/issues" {
        let all = (1...count).map {
          #"{"id":\#($0),"milestone":"\#(Shelf.baseURL)/milestones/\#($0 % 3 == 0 ? 2 : 1)"}"#
        }
        body = #"{"list":[\#(all.joined(separator: ","))]}"#
      } else if target.hasSuffix("/comments") {
        body = #"{"next":"\#(target)?page=2","list":[{"id":1,"text":"a","author":"b"}]}"#
      } else if status != 200 {
        return Response(status: status)
      } else {
        body = #"{"next":null,"list":[{"id":2,"text":"c","author":"d"}]}"#
      }
      let tag = target == "/issues" ? tag.map { _ in "\"\(count)-issues\"" } : tag
      return Response(json: body, headers: [Shelf.date], tag: tag, to: request)
    }
  }

  private static func asked(_ bench: SyncBench) -> [String] {
    bench.asked().filter { $0 != "/issues" }.sorted()
  }

  @Test("E1.3, P12.3: two children with the same lists and other columns request each page once")
  func sameLists() async throws {
    let bench = try SyncBench([:])
    Self.serve(bench, issues: 20)
    let resources = [Self.issue(), Self.child("comment"), Self.child("author", column: "author")]
    let record = try await bench.sync(resources)
    #expect(record.error == nil && record.lists == 40)
    let asked = Self.asked(bench)
    #expect(asked.count == 40 && Set(asked).count == 40)
    #expect(try bench.ask("SELECT count(*) || min(text) || max(text) FROM comments") == ["40ac"])
    #expect(try bench.ask("SELECT count(*) || min(author) || max(author) FROM authors") == ["40bd"])
  }

  @Test("E1.3, P12.3: parents with the same address request it once", arguments: [6, 300])
  func sameAddress(_ count: Int) async throws {
    let bench = try SyncBench([:])
    Self.serve(bench, issues: count)
    let resources = [Self.issue(), Self.child("milestone", path: "{issue.milestone}", pages: .init(.one))]
    let record = try await bench.sync(resources)
    #expect(record.error == nil && record.lists == count)
    #expect(Self.asked(bench) == ["/milestones/1", "/milestones/2"])
    #expect(try bench.ask("SELECT count(*) FROM milestones") == ["\(count)"])
  }

  @Test("E1.3, P12.3, P6.1: a validator that one list confirmed counts for the same page of the other lists")
  func confirmed() async throws {
    let bench = try SyncBench([:])
    Self.serve(bench, issues: 9, tag: "\"one\"")
    var resources = [Self.issue(), Self.child("milestone", path: "{issue.milestone}")]
    for index in resources.indices { resources[index].auditEvery = nil }
    _ = try await bench.sync(resources)
    _ = Self.asked(bench)
    #expect(try await bench.sync(resources, after: 60).outcome == .unchanged)
    #expect(bench.shelf.asked().map(\.status) == [304, 304, 304])
    // A new parent has no page that a validator could confirm.
    Self.serve(bench, issues: 12, tag: "\"one\"")
    let record = try await bench.sync(resources, after: 120)
    #expect(record.error == nil && record.added == 6)
    let asked = Self.asked(bench)
    #expect(asked.allSatisfy { $0.hasPrefix("/milestones/") } && asked.count <= 4)
    #expect(try bench.ask("SELECT count(*) FROM milestones") == ["12"])
  }

  @Test("E1.3, P12.3, E4.1: an address that means an empty list is requested once")
  func declined() async throws {
    let bench = try SyncBench([:])
    Self.serve(bench, issues: 30, status: 404)
    var milestone = Self.child("milestone", path: "{issue.milestone}", each: Each(of: "issue"))
    milestone.answers.noRecords.statuses = [404]
    let resources = [Self.issue(), milestone]
    #expect(try await bench.sync(resources).error == nil)
    #expect(Self.asked(bench) == ["/milestones/1", "/milestones/2"])
  }

  @Test("E1.3: a failure is not shared, and the lists that wait for it request the address themselves")
  func failed() async throws {
    let bench = try SyncBench([:])
    Self.serve(bench, issues: 3, status: 403)
    let resources = [
      Self.issue(), Self.child("milestone", path: "{issue.milestone}"), Self.child("comment", pages: .init(.one)),
    ]
    #expect(try await bench.sync(resources).exit == 65)
    #expect(Self.asked(bench).filter { $0.hasPrefix("/milestones") }.count == 3)
  }

  @Test("E1.3: an address is looked up only if another list may have it")
  func candidates() {
    func children(_ paths: String..., parent: Resource = Self.issue()) -> Set<String> {
      SharedAddresses([parent] + paths.enumerated().map { Self.child("c\($0)", path: $1) }).children
    }
    #expect(children("/issues/{issue.id}/comments", "/issues/{issue.id}/events", "/x/{issue.id}") == [])
    #expect(children("/issues/{issue.id}/comments", "/issues/{issue.id}/comments") == ["c0", "c1"])
    #expect(children("/issues/{issue.id}/comments", "/{issue.milestone}/1/comments") == ["c0", "c1"])
    #expect(children("/m/{issue.milestone}") == ["c0"])
    #expect(children("{issue.milestone}", "/issues/{issue.id}/comments") == ["c0", "c1"])
    let composite = Self.issue { $0.otherKeys = [at("milestone")] }
    #expect(children("/issues/{issue.id}/comments", parent: composite) == ["c0"])
    #expect(children("/issues/{issue.id}/{issue.milestone}", parent: composite) == [])
    #expect(children("/issues/{issue.id}{issue.milestone}", parent: composite) == ["c0"])
  }
}
