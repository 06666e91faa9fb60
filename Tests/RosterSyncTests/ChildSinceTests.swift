import FoundationEssentials
import RosterCore
import RosterSync
import Testing

@testable import RosterCache

/// Whole syncs of children with `since`: each list has its own mark.
struct ChildSinceTests {
  private static let issue = Resource(
    name: "issue", path: "/issues", records: at("list"), table: "issues", removal: .twice, pages: .init(.one),
    columns: [.init("id", at: at("id"), .integer), .init("rev", at: at("rev"), .integer)])

  private static func comment(
    each: Each = Each(of: "issue"), removal: Resource.Removal = .twice, change: (inout Since) -> Void = { _ in }
  ) -> Resource {
    var resource = Resource(
      name: "comment", path: "/issues/{issue.id}/comments", records: at("list"), table: "comments",
      conditions: [.init(at("closed"), .absent)], byKey: removal == .ask ? "/issues/{issue.id}/comments/{key}" : nil,
      removal: removal, pages: .init(.next(at: .body(at("next")))),
      columns: [.init("id", at: at("id"), .integer), .init("text", at: at("text"))], each: each)
    var since = Since(
      at: at("at"), param: .query("since"), form: .number, overlap: .number(1), listing: resource.listing)
    change(&since)
    resource.since = since
    return resource
  }

  /// Comments whose incremental lists have keys only.
  private static let asking = comment(removal: .ask) {
    $0.asks = true
    $0.listing.path = "/issues/{issue.id}/changes"
  }

  private static func comment(_ id: Int, at mark: Int, _ text: String = "", isClosed: Bool = false) -> String {
    #"{"id":\#(id),"at":\#(mark),"text":"\#(text)"\#(isClosed ? #","closed":true"# : "")}"#
  }

  private static func list(_ records: [String], next: String? = nil) -> String {
    let next = next.map { "\"\($0)\"" } ?? "null"
    return #"{"next":\#(next),"list":[\#(records.joined(separator: ","))]}"#
  }

  private static func issues(_ revisions: Int...) -> String {
    list(revisions.enumerated().map { #"{"id":\#($0 + 1),"rev":\#($1)}"# })
  }

  /// A bench after a first sync of these resources.
  private static func synced(
    _ resources: [Resource] = [issue, comment()]
  ) async throws -> (bench: SyncBench, resources: [Resource]) {
    (try await SyncBench.synced(resources, answers: first), resources)
  }

  private static func asked(_ bench: SyncBench) -> [String] {
    bench.asked().filter { $0 != "/issues" }.sorted()
  }

  private static let first = [
    "/issues": issues(1, 1), "/issues/1/comments": list([comment(1, at: 10), comment(2, at: 12)]),
    "/issues/2/comments": list([comment(1, at: 40)]),
  ]

  /// After the first sync, `where` skips a comment of the first issue.
  private static let closed = [
    "/issues": issues(1, 1), "/issues/1/comments?since=11": list([comment(2, at: 13, isClosed: true)]),
    "/issues/2/comments?since=39": list([]),
  ]

  @Test("17, 21, 22: each list is pulled from its own mark, and one mark moves without the other")
  func marks() async throws {
    let bench = try SyncBench(answers: Self.first)
    let resources = [Self.issue, Self.comment()]
    #expect(try await bench.sync(resources).added == 5)
    #expect(try bench.ask("SELECT mark FROM resource_lists WHERE resource = 'comment' ORDER BY 1") == ["12", "40"])
    _ = bench.asked()
    bench.serve([
      "/issues": Self.issues(1, 1), "/issues/1/comments?since=11": Self.list([Self.comment(2, at: 13, "new")]),
      "/issues/2/comments?since=39": Self.list([]),
    ])
    #expect(try await bench.sync(resources, after: 1).changed == 1)
    #expect(Self.asked(bench) == ["/issues/1/comments?since=11", "/issues/2/comments?since=39"])
    #expect(try bench.ask("SELECT mark FROM resource_lists WHERE resource = 'comment' ORDER BY 1") == ["13", "40"])
    #expect(try bench.ask("SELECT count(*) FROM comments") == ["3"])
    #expect(try bench.ask("SELECT DISTINCT proof FROM resource_lists WHERE resource = 'comment'") == ["since"])
    #expect(try bench.ask("SELECT proof FROM resources WHERE name = 'comment'") == ["since"])
  }

  @Test("21, 22: a list is pulled whole when since.whole_every has passed, and counts what was missed")
  func whole() async throws {
    let (bench, resources) = try await Self.synced()
    let late = [
      "/issues/1/comments": Self.list([Self.comment(1, at: 10, "late"), Self.comment(2, at: 12)]),
      "/issues/2/comments": Self.list([Self.comment(1, at: 40)]),
    ]
    bench.serve(Self.first, late)
    let record = try await bench.sync(resources, after: 90_000)
    #expect(record.changed == 1 && record.missed == ["comment": 1])
    #expect(Self.asked(bench) == ["/issues/1/comments", "/issues/2/comments"])
    let missed = try bench.ask(
      "SELECT parent_id || ' ' || missed FROM resource_lists WHERE resource = 'comment' ORDER BY 1")
    #expect(missed == ["1 1", "2 0"])
    let rows = try bench.ask(
      "SELECT whole || ' ' || lists || ' ' || coalesce(missed, '-') FROM sync_resources WHERE resource = 'comment'")
    #expect(rows == ["2 2 -", "2 2 1"])
    #expect(try await bench.sync(resources, after: 90_030).missed == [:])
  }

  @Test(
    "13, 21: a list is pulled whole again if its missing record could not be asked for", arguments: [true, false])
  func unasked(hasRoom: Bool) async throws {
    var bench = try SyncBench(answers: Self.first)
    let resources = [Self.issue, Self.comment(removal: .ask)]
    _ = try await bench.sync(resources)
    let late = ["/issues/1/comments": Self.list([Self.comment(1, at: 10)])]
    bench.serve(Self.first, late)
    // by_key answers 404 to the control question too.
    #expect(try await bench.sync(resources, allowRemoval: true, isFresh: true, after: 10).isDegraded)
    _ = bench.asked()
    let next = [
      "/issues/1/comments?since=9": Self.list([]),
      "/issues/2/comments?since=39": Self.list([]), "/issues/1/comments/1": Self.comment(1, at: 10),
    ]
    bench.serve(Self.first, late, next)
    // The whole pull is also postponed.
    if !hasRoom {
      bench.mostRequests = 0
      #expect(try await bench.sync(resources, after: 11).removed == 0)
      #expect(Self.asked(bench) == ["/issues/1/comments?since=9", "/issues/2/comments?since=39"])
      bench.mostRequests = .max
    }
    #expect(try await bench.sync(resources, allowRemoval: true, after: 12).removed == 1)
    let asked = Self.asked(bench)
    #expect(asked.contains("/issues/1/comments") && asked.contains("/issues/2/comments?since=39"), "\(asked)")
    _ = try await bench.sync(resources, after: 13)
    #expect(Self.asked(bench) == ["/issues/1/comments?since=9", "/issues/2/comments?since=39"])
  }

  @Test("21, 23: a list that is due for a whole pull is pulled whole after it failed because of 404")
  func unaskedAndFailed() async throws {
    let (bench, resources) = try await Self.synced([Self.issue, Self.comment(removal: .ask)])
    let late = ["/issues/1/comments": Self.list([Self.comment(1, at: 10)])]
    bench.serve(Self.first, late)
    // by_key answers 404 to the control question too.
    #expect(try await bench.sync(resources, allowRemoval: true, isFresh: true, after: 10).isDegraded)
    for (time, state) in [(11.0, "vanished"), (12, "failed"), (13, "failed")] {
      bench.serve(["/issues": Self.issues(1, 1), "/issues/2/comments?since=39": Self.list([])])
      _ = try await bench.sync(resources, after: time)
      let states = try bench.ask("SELECT state FROM resource_lists WHERE resource = 'comment' AND parent_id = 1")
      #expect(states == [state])
    }
    _ = bench.asked()
    let next = ["/issues/2/comments?since=39": Self.list([]), "/issues/1/comments/1": Self.comment(1, at: 10)]
    bench.serve(Self.first, late, next)
    #expect(try await bench.sync(resources, allowRemoval: true, after: 14).removed == 1)
    #expect(Self.asked(bench).contains("/issues/1/comments"))
  }

  @Test("21, 22: only the list of a changed parent is pulled, from its mark, until it is due")
  func changedParent() async throws {
    let bench = try SyncBench(answers: Self.first)
    let each = Each(of: "issue", changed: ["rev"], wholeEvery: .every(.seconds(1000)))
    let resources = [Self.issue, Self.comment(each: each)]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    let next = ["/issues": Self.issues(1, 2), "/issues/2/comments?since=39": Self.list([Self.comment(2, at: 41)])]
    bench.serve(Self.first, next)
    #expect(try await bench.sync(resources, after: 100).added == 1)
    #expect(Self.asked(bench) == ["/issues/2/comments?since=39"])
    // The list's last whole pull is as old as that of the other list.
    let all = ["/issues/2/comments": Self.list([Self.comment(1, at: 40), Self.comment(2, at: 41)])]
    bench.serve(Self.first, next, all)
    #expect(try await bench.sync(resources, after: 1001).outcome == .unchanged)
    #expect(Self.asked(bench) == ["/issues/1/comments", "/issues/2/comments"])
  }

  @Test("15: an incremental pull of a list removes what where skips now, and nothing because of its absence")
  func skipped() async throws {
    let (bench, resources) = try await Self.synced()
    bench.serve(Self.closed)
    #expect(try await bench.sync(resources, allowRemoval: true, after: 1).removed == 1)
    #expect(try bench.ask("SELECT issue_id || ' ' || id FROM comments ORDER BY 1") == ["1 1", "2 1"])
  }

  @Test("14, 15: a reject of unknown key holds back the removals of its own list, until it is gone")
  func heldBack() async throws {
    let (bench, resources) = try await Self.synced()
    let closed = Self.comment(2, at: 13, isClosed: true)
    bench.serve([
      "/issues": Self.issues(1, 1), "/issues/1/comments?since=11": Self.list([closed, #"{"at":13}"#]),
      "/issues/2/comments?since=39": Self.list([Self.comment(1, at: 41, isClosed: true)]),
    ])
    let held = try await bench.sync(resources, allowRemoval: true, after: 1)
    #expect(held.isDegraded && held.removed == 1 && held.rejected == 1)
    #expect(try bench.ask("SELECT issue_id || ' ' || id FROM comments ORDER BY 1") == ["1 1", "1 2"])
    bench.serve([
      "/issues": Self.issues(1, 1), "/issues/1/comments?since=11": Self.list([closed]),
      "/issues/2/comments?since=40": Self.list([]),
    ])
    let next = try await bench.sync(resources, allowRemoval: true, after: 2)
    #expect(!next.isDegraded && next.removed == 1)
    #expect(try bench.ask("SELECT issue_id || ' ' || id FROM comments") == ["1 1"])
  }

  @Test("15: the guard counts what the incremental pulls of all lists remove")
  func guarded() async throws {
    let (bench, resources) = try await Self.synced()
    bench.serve(Self.closed)
    #expect(try await bench.sync(resources, after: 1).trouble?.kind == .guarded)
    #expect(try bench.ask("SELECT count(*) FROM comments") == ["3"])
  }

  @Test("21, 48: a list whose incremental pull is refused is pulled whole in the same sync, the others go on")
  func refused() async throws {
    let (bench, resources) = try await Self.synced()
    _ = bench.reported()
    let next = [
      "/issues/1/comments?since=11": Self.list([Self.comment(3, at: 14)], next: "/lost"),
      "/issues/1/comments": Self.list([1, 2, 3].map { Self.comment($0, at: 11 + $0) }),
      "/issues/2/comments?since=39": Self.list([Self.comment(2, at: 41)]),
    ]
    bench.serve(Self.first, next)
    let record = try await bench.sync(resources, after: 1)
    #expect(record.exit == 0 && record.added == 2, "\(record.error ?? "")")
    #expect(
      Self.asked(bench) == [
        "/issues/1/comments", "/issues/1/comments?since=11", "/issues/2/comments?since=39", "/lost",
      ])
    let resets = bench.reported().filter { $0.name == .listReset }
    #expect(resets.map(\.of) == ["[1]"] && resets.map(\.reason) == ["refused"])
    #expect(record.trouble?.kind == .listReset)
  }

  @Test("21, 23: 400 on the first page of an incremental pull leads to a whole pull of that list, and 404 does not")
  func refusedStart() async throws {
    for (status, isReset) in [("400", true), ("422", true), ("404", false)] {
      let (bench, resources) = try await Self.synced()
      _ = bench.reported()
      bench.serve(
        Self.first,
        [
          "/issues/1/comments?since=11": status,
          "/issues/1/comments": Self.list([1, 2, 3].map { Self.comment($0, at: 11 + $0) }),
          "/issues/2/comments?since=39": Self.list([Self.comment(2, at: 41)]),
        ])
      let record = try await bench.sync(resources, after: 1)
      #expect(record.exit == 0 && record.added == (isReset ? 2 : 1))
      #expect(bench.reported().filter { $0.name == .listReset }.map(\.of) == (isReset ? ["[1]"] : []))
    }
  }

  @Test(
    "52: {parent.column} in since.value is filled",
    arguments: [
      ("i{issue.id}:{since}", "i1%3A11", "i2%3A39"), ("{since}:{issue.id}", "11%3A1", "39%3A2"),
      (
        "issue = {issue.id} AND at >= {since}", "issue%20%3D%201%20AND%20at%20%3E%3D%2011",
        "issue%20%3D%202%20AND%20at%20%3E%3D%2039"
      ),
    ])
  func filledStart(value: String, first: String, second: String) async throws {
    let bench = try SyncBench(answers: [
      "/issues": Self.issues(1, 1), "/issues/1/comments": Self.list([Self.comment(1, at: 12)]),
      "/issues/2/comments": Self.list([Self.comment(1, at: 40)]),
    ])
    let resources = [Self.issue, Self.comment { $0.value = value }]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    bench.serve([
      "/issues": Self.issues(1, 1), "/issues/1/comments?since=\(first)": Self.list([Self.comment(1, at: 12)]),
      "/issues/2/comments?since=\(second)": Self.list([Self.comment(2, at: 41)]),
    ])
    let record = try await bench.sync(resources, after: 1)
    #expect(record.exit == 0 && record.added == 1 && record.trouble == nil)
  }

  @Test("21: each list has its delta token, and a forgotten one leads to a whole pull of that list only")
  func tokens() async throws {
    func page(_ records: [String], token: String) -> String {
      #"{"next":null,"token":"\#(token)","list":[\#(records.joined(separator: ","))]}"#
    }
    let bench = try SyncBench(answers: [
      "/issues": Self.issues(1, 1), "/issues/1/comments": page([Self.comment(1, at: 10)], token: "a{issue.id}"),
      "/issues/2/comments": page([Self.comment(1, at: 40)], token: "b"),
    ])
    let resources = [Self.issue, Self.comment { ($0.at, $0.token, $0.value) = (nil, .body(at("token")), "{since}") }]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    bench.serve([
      "/issues": Self.issues(1, 1), "/issues/1/comments?since=a%7Bissue.id%7D": page([], token: "c"),
      "/issues/2/comments": page([Self.comment(1, at: 41, "new")], token: "d"),
    ])
    let record = try await bench.sync(resources, after: 1)
    #expect(record.exit == 0 && record.changed == 1 && record.removed == 0, "\(record.error ?? "")")
    #expect(
      Self.asked(bench) == [
        "/issues/1/comments?since=a%7Bissue.id%7D", "/issues/2/comments", "/issues/2/comments?since=b",
      ])
    #expect(try bench.ask("SELECT token FROM cache_lists WHERE token IS NOT NULL ORDER BY 1") == ["c", "d"])
  }

  @Test("21, 23: a list without a value at since.at has failed, and the others are published")
  func unreadable() async throws {
    let answers = Self.first.merging(["/issues/2/comments": Self.list([#"{"id":1,"text":""}"#])]) { $1 }
    let bench = try SyncBench(answers: answers)
    let record = try await bench.sync([Self.issue, Self.comment()])
    #expect(record.outcome == .published && record.listsFailed == 1)
    #expect(record.error?.contains("since.at") == true || record.error?.contains("correct at and form") == true)
  }

  @Test("21: with ask, the keys of each list are asked for below its parent")
  func asks() async throws {
    let (bench, resources) = try await Self.synced([Self.issue, Self.asking])
    bench.serve([
      "/issues": Self.issues(1, 1), "/issues/1/changes?since=11": Self.list([#"{"id":2,"at":13}"#]),
      "/issues/2/changes?since=39": Self.list([#"{"id":7,"at":41}"#]),
      "/issues/1/comments/2": Self.comment(2, at: 13, "new"), "/issues/2/comments/7": Self.comment(7, at: 41),
    ])
    let record = try await bench.sync(resources, after: 1)
    #expect(record.exit == 0 && record.changed == 1 && record.added == 1, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT mark FROM resource_lists WHERE resource = 'comment' ORDER BY 1") == ["13", "41"])
  }

  @Test("13: a key that cannot be asked for in one list does not hold up the other lists", arguments: [403, 500])
  func unasked(_ status: Int) async throws {
    let (bench, resources) = try await Self.synced([Self.issue, Self.asking])
    let answers = [
      "/issues": Self.issues(1, 1), "/issues/1/changes?since=11": Self.list([#"{"id":2,"at":13}"#]),
      "/issues/2/changes?since=39": Self.list([#"{"id":7,"at":41}"#]),
      "/issues/2/comments/7": Self.comment(7, at: 41),
    ]
    bench.serve(answers, ["/issues/1/comments/2": "\(status)"])
    let record = try await bench.sync(resources, after: 1)
    #expect(record.added == 1 && record.trouble?.kind == .unasked, "\(record.error ?? "")")
  }

  @Test("26: whole pulls of lists that the budget has no room for are postponed")
  func postponed() async throws {
    var bench = try SyncBench(answers: Self.first)
    let resources = [Self.issue, Self.comment()]
    _ = try await bench.sync(resources)
    _ = bench.asked()
    let next = ["/issues/2/comments?since=39": Self.list([Self.comment(1, at: 40)])]
    bench.serve(Self.first, next)
    bench.mostRequests = 1
    #expect(try await bench.sync(resources, after: 90_000).isDegraded == false)
    #expect(Self.asked(bench) == ["/issues/1/comments", "/issues/2/comments?since=39"])
    #expect(try await bench.sync(resources, after: 180_000).trouble?.kind == .postponed)
  }

  @Test("21: a list that changed although no column of changed did counts as missed")
  func untold() async throws {
    let bench = try SyncBench(answers: Self.first)
    var comment = Self.comment(each: Each(of: "issue", changed: ["rev"], wholeEvery: .every(.seconds(1000))))
    comment.since = nil
    let resources = [Self.issue, comment]
    _ = try await bench.sync(resources)
    let late = ["/issues/2/comments": Self.list([Self.comment(1, at: 40), Self.comment(2, at: 41)])]
    bench.serve(Self.first, late)
    #expect(try await bench.sync(resources, after: 100).outcome == .unchanged)
    #expect(try await bench.sync(resources, after: 1001).added == 1)
    let missed = try bench.ask("SELECT missed FROM resource_lists WHERE resource = 'comment' ORDER BY parent_id")
    #expect(missed == ["0", "1"])
  }

  @Test("21, 40: a list that an interrupted sync pulled from its mark is not transferred again, and its mark moves")
  func interrupted() async throws {
    let (bench, resources) = try await Self.synced()
    let next = [
      "/issues": Self.issues(1, 1), "/issues/1/comments?since=11": Self.list([Self.comment(2, at: 13, "new")]),
    ]
    bench.serve(next, otherwise: 429)
    #expect(try await bench.sync(resources, after: 1).outcome == .failed)
    _ = bench.asked()
    bench.serve(next, ["/issues/2/comments?since=39": Self.list([])])
    #expect(try await bench.sync(resources, after: 2).changed == 1)
    #expect(Self.asked(bench) == ["/issues/2/comments?since=39"])
    #expect(try bench.ask("SELECT mark FROM resource_lists WHERE resource = 'comment' ORDER BY 1") == ["13", "40"])
  }

  @Test("51: pending shows what an incremental pull of lists would change")
  func pending() async throws {
    let (bench, resources) = try await Self.synced()
    bench.serve(Self.closed, ["/issues/2/comments?since=39": Self.list([Self.comment(7, at: 41)])])
    #expect(try await bench.sync(resources, allowRemoval: true, isDryRun: true, after: 1).outcome == .tried)
    #expect(try bench.pending() == ["added comment 7 of [2]", "removed comment 2 of [1]"])
  }

  @Test("20: a validator of a child's page that lies is found")
  func lie() async throws {
    let bench = try SyncBench([:])
    var comment = Self.comment()
    comment.since = nil
    comment.auditEvery = .seconds(100)
    let resources = [Self.issue, comment]
    bench.serve(Self.first, tag: "\"same\"")
    _ = try await bench.sync(resources)
    let next = [
      "/issues/1/comments": Self.list([Self.comment(1, at: 10, "new"), Self.comment(2, at: 12)]),
      "/issues/2/comments": Self.list([Self.comment(1, at: 40, "new")]),
    ]
    bench.serve(Self.first, next, tag: "\"same\"")
    #expect(try await bench.sync(resources, after: 1).outcome == .unchanged)
    let record = try await bench.sync(resources, after: 120)
    #expect(record.changed == 2 && record.trouble?.kind == .validators, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT validators FROM resources WHERE name = 'comment'") == ["distrusted"])
  }
}
