import FoundationEssentials
import RosterModel
import RosterSync
import Testing

@testable import RosterCache

/// Parents of lists that have vanished, in pulls that do not show whether upstream still has the parent.
struct VanishedListTests {
  private static let id = Resource.Column("id", at: at("id"), .integer)
  private static let revision = Resource.Column("rev", at: at("rev"), .integer)

  /// Issues that are pulled by revision.
  private static func issue(_ removal: Resource.Removal = .ask) -> Resource {
    var issue = Resource(
      name: "issue", path: "/issues", records: at("list"), table: "issues",
      byKey: removal == .ask ? "/issues/{key}" : nil, removal: removal, pages: .init(.one), columns: [id, revision])
    issue.since = Since(
      at: at("rev"), param: .query("since"), form: .number, overlap: .number(1), wholeEvery: .seconds(50_000),
      listing: issue.listing)
    return issue
  }

  private static let comment = Resource(
    name: "comment", path: "/issues/{issue.id}/comments", records: at("list"), table: "comments", removal: .twice,
    pages: .init(.one), columns: [id], each: Each(of: "issue", changed: ["rev"]))

  private static func list(_ records: String...) -> String { #"{"list":[\#(records.joined(separator: ","))]}"# }
  private static func record(_ id: Int, _ revision: Int = 1) -> String { #"{"id":\#(id),"rev":\#(revision)}"# }

  private static let all = (1...9).map { record($0, $0) }
  private static let first = Dictionary(
    uniqueKeysWithValues: [("/issues", #"{"list":[\#(all.joined(separator: ","))]}"#)]
      + (1...9).map { ("/issues/\($0)/comments", list(record(1))) })

  /// Issue 2 changes, and its list is 404 from then on.
  private static func vanish(_ removal: Resource.Removal = .ask) async throws -> (SyncBench, [Resource]) {
    let (bench, resources) = (try SyncBench([:]), [issue(removal), comment])
    bench.serve(first)
    #expect(try await bench.sync(resources).error == nil)
    bench.serve(["/issues?since=8": list(record(2, 20))])
    let record = try await bench.sync(resources, after: 60)
    #expect(record.exit == 0 && !record.isDegraded)
    #expect(try state(bench) == ["vanished"])
    _ = bench.asked()
    return (bench, resources)
  }

  private static func state(_ bench: SyncBench) throws -> [String] {
    try bench.ask("SELECT state FROM resource_lists WHERE resource = 'comment' AND parent_id = 2")
  }

  @Test("E7.4, E5.1, P16.1: a parent that by_key does not have is removed with its children by an incremental pull")
  func gone() async throws {
    let (bench, resources) = try await Self.vanish()
    bench.serve(["/issues?since=19": Self.list(), "/issues/9": Self.record(9, 9)])
    let record = try await bench.sync(resources, after: 120)
    #expect(record.error == nil && record.removed == 2)
    let asked = bench.asked().sorted()
    #expect(asked.contains("/issues/2") && !asked.contains("/issues/2/comments"))
    #expect(asked.count == 3)
    #expect(try bench.ask("SELECT count(*) FROM issues WHERE id = 2") == ["0"])
    #expect(try bench.ask("SELECT count(*) FROM comments WHERE issue_id = 2") == ["0"])
    #expect(try Self.state(bench) == [])
  }

  @Test("E7.4, P16.1: the control question has a key that the incremental pull received, and not the latest one")
  func seen() async throws {
    let (bench, resources) = try await Self.vanish()
    // Upstream has deleted issue 9 too, which no pull has shown.
    let answers = ["/issues/5": Self.record(5, 21), "/issues/5/comments": Self.list(Self.record(1))]
    bench.serve(answers, ["/issues?since=19": Self.list(Self.record(5, 21))])
    let record = try await bench.sync(resources, after: 120)
    #expect(record.error == nil && record.removed == 2)
    #expect(bench.asked().sorted().filter { !$0.contains("s/5/") } == ["/issues/2", "/issues/5", "/issues?since=19"])
  }

  @Test("E7.7, E7.4: if all parents are gone, a child with another definition is published, and is empty with them")
  func allGone() async throws {
    var (resources, bench) = ([Self.issue(), Self.comment], try SyncBench([:]))
    bench.serve(Self.first)
    #expect(try await bench.sync(resources).error == nil)
    resources[1].path = "/issues/{issue.id}/replies"
    bench.serve(["/issues?since=8": Self.list()])
    let published = try await bench.sync(resources, after: 60)
    #expect(published.exit == 0, "\(published.error ?? "")")
    bench.serve(["/issues?since=8": Self.list()])
    let record = try await bench.sync(resources, allowRemoval: true, after: 120)
    #expect(record.exit == 0 && record.removed == 18, "\(record.error ?? "")")
    #expect(try bench.ask("SELECT count(*) FROM comments") == ["0"])
  }

  @Test("E7.4, P16.4: without an answer to the control question the parent stays")
  func control() async throws {
    let (bench, resources) = try await Self.vanish()
    bench.serve(["/issues?since=19": Self.list()])
    let record = try await bench.sync(resources, after: 120)
    #expect(record.exit == 0 && record.isDegraded && record.removed == 0)
    #expect(try bench.ask("SELECT count(*) FROM issues WHERE id = 2") == ["1"])
  }

  @Test("E7.4, E7.5: if by_key still has the parent, the list that is 404 again has failed")
  func there() async throws {
    let (bench, resources) = try await Self.vanish()
    bench.serve(["/issues?since=19": Self.list(), "/issues/2": Self.record(2, 20)])
    let record = try await bench.sync(resources, after: 120)
    #expect(record.exit == 0 && record.isDegraded && record.removed == 0)
    #expect(bench.asked().sorted() == ["/issues/2", "/issues/2/comments", "/issues?since=19"])
    #expect(try Self.state(bench) == ["failed"])
  }

  @Test("E7.4: the parent of a list that failed because of 404 is asked for after each such answer, until it is gone")
  func goneLater() async throws {
    let (bench, resources) = try await Self.vanish()
    let list = ["/issues?since=19": Self.list()]
    for time in [120.0, 180, 240] {
      bench.serve(list, ["/issues/2": Self.record(2, 20)])
      let record = try await bench.sync(resources, after: time)
      #expect(record.exit == 0 && record.isDegraded && record.removed == 0)
      #expect(bench.asked().sorted() == ["/issues/2", "/issues/2/comments", "/issues?since=19"])
      #expect(try Self.state(bench) == ["failed"])
    }
    bench.serve(list, ["/issues/9": Self.record(9, 9)])
    let record = try await bench.sync(resources, after: 300)
    #expect(record.error == nil && record.removed == 2)
    #expect(try Self.state(bench) == [])
  }

  @Test("E7.4: after an answer other than 404 and 410 the parent of a failed list is not asked for")
  func failedOtherwise() async throws {
    let (bench, resources) = try await Self.vanish()
    let answers = ["/issues?since=19": Self.list(), "/issues/2": Self.record(2, 20)]
    for (time, other, isAsked) in [(120.0, 404, true), (180, 403, true), (240, 403, false), (300, 404, false)] {
      bench.serve(answers, otherwise: other)
      _ = try await bench.sync(resources, after: time)
      #expect(bench.asked().contains("/issues/2") == isAsked, "\(time)")
      #expect(try Self.state(bench) == [time == 300 ? "vanished" : "failed"], "\(time)")
    }
  }

  @Test("E7.5: an incremental pull does not show that upstream has the parent, and a whole pull does")
  func whole() async throws {
    let (bench, resources) = try await Self.vanish(.twice)
    bench.serve(["/issues?since=19": Self.list()])
    #expect(try await bench.sync(resources, after: 120).isDegraded == false)
    #expect(try Self.state(bench) == ["vanished"])
    var answers = Self.first
    answers["/issues/2/comments"] = nil
    answers["/issues"] = #"{"list":[\#((1...9).map { Self.record($0, $0 == 2 ? 20 : $0) }.joined(separator: ","))]}"#
    bench.serve(answers)
    #expect(try await bench.sync(resources, after: 60_000).isDegraded)
    #expect(try Self.state(bench) == ["failed"])
  }

  @Test("E7.4: a parent on an unchanged page of an incremental pull is asked for", arguments: [true, false])
  func onUnchangedPage(isOtherChanged: Bool) async throws {
    var issue = Self.issue()
    let pages = Resource.Pages(.next(at: .body(at("next"))))
    issue.pages = pages
    issue.since?.listing.pages = pages
    let (bench, resources) = (try SyncBench(answers: Self.first), [issue, Self.comment])
    #expect(try await bench.sync(resources).error == nil)
    var answers = [
      "/issues?since=8": #"{"next":"/issues?since=8&p=2","list":[\#(Self.record(2, 9))]}"#,
      "/issues?since=8&p=2": Self.list(Self.record(9, 9)), "/issues/9": Self.record(9, 9),
    ]
    bench.serve(answers)
    #expect(try await bench.sync(resources, after: 60).error == nil)
    #expect(try Self.state(bench) == ["vanished"])
    if isOtherChanged { answers["/issues?since=8&p=2"] = Self.list(Self.record(9, 9), Self.record(8, 8)) }
    bench.serve(answers)
    let record = try await bench.sync(resources, after: 120)
    #expect(record.error == nil && record.removed == 2)
    #expect(bench.asked().contains("/issues/2"))
    #expect(try Self.state(bench) == [])
  }

  @Test("E7.4, E7.6: many parents that disappear between two incremental pulls are removed by the next one")
  func many() async throws {
    let (bench, resources) = (try SyncBench([:]), [Self.issue(), Self.comment])
    let all = (1...30).map { Self.record($0, $0) }
    let lists = (1...30).map { ("/issues/\($0)/comments", Self.list(Self.record(1))) }
    let first = [("/issues", #"{"list":[\#(all.joined(separator: ","))]}"#)] + lists
    bench.serve(Dictionary(uniqueKeysWithValues: first))
    #expect(try await bench.sync(resources).error == nil)
    let changed = (1...12).map { Self.record($0, 40) }.joined(separator: ",")
    bench.serve(["/issues?since=29": #"{"list":[\#(changed)]}"#, "/issues/30/comments": Self.list()])
    #expect(try await bench.sync(resources, after: 60).exit == 0)
    let left = (13...30).map { ("/issues/\($0)", Self.record($0, $0)) } + [("/issues?since=39", Self.list())]
    bench.serve(Dictionary(uniqueKeysWithValues: left))
    let record = try await bench.sync(resources, allowRemoval: true, after: 120)
    #expect(record.error == nil && record.removed == 24)
  }

  @Test("E1.2: no list below a missed parent is requested, at any depth", arguments: [Resource.Removal.twice, .never])
  func missedAbove(_ removal: Resource.Removal) async throws {
    func resource(_ name: String, _ path: String, of parent: String?) -> Resource {
      Resource(
        name: name, path: path, records: at("list"), table: name + "s", removal: parent == nil ? removal : .twice,
        pages: .init(.one), columns: [Self.id], each: parent.map { Each(of: $0) })
    }
    let resources = [
      resource("a", "/a", of: nil), resource("b", "/a/{a.id}/b", of: "a"),
      resource("c", "/a/{a.id}/b/{b.id}/c", of: "b"),
    ]
    let bench = try SyncBench([:])
    let many = #"{"list":[\#((1...12).map { Self.record($0) }.joined(separator: ","))]}"#
    func answers(_ ids: [Int]) -> [String: String] {
      var answers = ["/a": #"{"list":[\#(ids.map { Self.record($0) }.joined(separator: ","))]}"#]
      for id in ids {
        answers["/a/\(id)/b"] = many
        for inner in 1...12 { answers["/a/\(id)/b/\(inner)/c"] = Self.list(Self.record(1)) }
      }
      return answers
    }
    bench.serve(answers([1, 2]))
    #expect(try await bench.sync(resources).error == nil)
    _ = bench.asked()
    bench.serve(answers([1]))
    let missed = try await bench.sync(resources, allowRemoval: true, after: 60)
    #expect(missed.exit == 0 && missed.removed == 0 && missed.listsFailed == 0)
    #expect(!bench.asked().contains { $0.hasPrefix("/a/2") })
    let second = try await bench.sync(resources, allowRemoval: true, after: 120)
    #expect(second.exit == 0 && second.removed == (removal == .twice ? 25 : 0))
  }

  @Test(
    "E1.2: no list below an absent parent is requested, until a pull has the parent again",
    arguments: [Resource.Removal.twice, .never])
  func absentParent(_ removal: Resource.Removal) async throws {
    let (bench, issue) = (try SyncBench([:]), Self.issue(removal))
    var comment = Self.comment
    comment.each = Each(of: "issue")
    comment.answers.noRecords.statuses = [404]
    let resources = [issue, comment]
    bench.serve(Self.first)
    #expect(try await bench.sync(resources).error == nil)
    var answers = Self.first
    let rest = Self.all.enumerated().filter { $0.offset != 4 }.map(\.element)
    answers["/issues"] = #"{"list":[\#(rest.joined(separator: ","))]}"#
    answers["/issues/5/comments"] = nil
    answers["/issues?since=8"] = Self.list(Self.record(9, 9))
    bench.serve(answers)
    #expect(try await bench.sync(resources, isFresh: true, after: 60).removed == 0)
    _ = bench.asked()
    let record = try await bench.sync(resources, after: 120)
    #expect(record.error == nil && record.removed == 0 && record.listsFailed == 0)
    #expect(!bench.asked().contains("/issues/5/comments"))
    #expect(try bench.ask("SELECT count(*) FROM comments WHERE issue_id = 5") == ["1"])
    answers["/issues?since=8"] = Self.list(Self.record(5, 10))
    answers["/issues/5/comments"] = Self.list(Self.record(1), Self.record(2))
    bench.serve(answers)
    #expect(try await bench.sync(resources, after: 180).added == 1)
  }

  @Test(
    "E1.2: no list below a rejected parent is requested, also if its page is unchanged in the next incremental pull",
    arguments: [true, false])
  func rejectedParent(_ isRestUnchanged: Bool) async throws {
    var (issue, comment) = (Self.issue(.twice), Self.comment)
    issue.pages = .init(.next(at: .body(at("next"))))
    issue.columns.append(.init("title", at: at("title")))
    comment.each = Each(of: "issue")
    let (bench, resources) = (try SyncBench(answers: Self.first), [issue, comment])
    #expect(try await bench.sync(resources).error == nil)
    let rejected = #"{"id":5,"rev":8,"title":5}"#
    var answers = Self.first
    answers["/issues?since=8"] = #"{"next":"/issues?page=2","list":[\#(rejected)]}"#
    answers["/issues?page=2"] = Self.list(Self.record(9, 9))
    for time in [60.0, 120] {
      bench.serve(answers)
      _ = bench.asked()
      let record = try await bench.sync(resources, after: time)
      #expect(record.exit == 0 && record.rejected == 1, "\(record.error ?? "")")
      let asked = bench.asked().sorted()
      #expect(asked.contains("/issues/4/comments") && !asked.contains("/issues/5/comments"))
      if !isRestUnchanged { answers["/issues?page=2"] = Self.list(Self.record(8, 8), Self.record(9, 9)) }
    }
  }

  @Test(
    "E1.2, P7.11: the list of a parent is requested if the pull rejects one record of its key and stores another",
    arguments: [true, false])
  func rejectedAndStored(isFirst: Bool) async throws {
    var (issue, comment) = (Self.issue(.twice), Self.comment)
    issue.since = nil
    issue.pages = .init(.next(at: .body(at("next"))))
    comment.each = Each(of: "issue")
    let (bench, resources) = (try SyncBench([:]), [issue, comment])
    let rejected = #"{"id":5,"rev":"x"}"#
    for (time, first, second, isRequested) in [
      (0.0, [4], [5], true), (60, [4], [5], true), (120, [4, 6], [5], true), (180, [4, 6], [5, 7], true),
      (240, [4, 6], [7], false), (300, [4, 6], [7], false), (360, [4, 6], [5, 7], true), (420, [4], [7], false),
    ] {
      let records = [first, second].enumerated().map { page, ids in
        (ids.map { Self.record($0) } + ((page == 0) == isFirst ? [rejected] : [])).joined(separator: ",")
      }
      var answers = ["/issues": #"{"next":"/issues?p=2","list":[\#(records[0])]}"#]
      answers["/issues?p=2"] = Self.list(records[1])
      for id in 4...7 { answers["/issues/\(id)/comments"] = Self.list(Self.record(1)) }
      bench.serve(answers)
      _ = bench.asked()
      let record = try await bench.sync(resources, after: time)
      #expect(record.exit == 0 && record.rejected == 1, "\(time): \(record.error ?? "")")
      #expect(bench.asked().contains("/issues/5/comments") == isRequested, "\(time)")
    }
  }

  @Test(
    "E3.1, P8.9, P8.10: a record that two pulls of a list miss is removed, also if its parent gives another address")
  func movedList() async throws {
    func resources(_ path: String) -> [Resource] {
      var (issue, comment) = (Self.issue(.never), Self.comment)
      issue.since = nil
      issue.columns.append(.init("slug", at: at("slug")))
      comment.each = Each(of: "issue")
      comment.path = path
      return [issue, comment]
    }
    let (bench, bySlug) = (try SyncBench([:]), resources("/by/{issue.slug}"))
    func answers(_ slug: String, _ ids: Int...) -> [String: String] {
      let list = #"{"list":[\#(ids.map { Self.record($0) }.joined(separator: ","))]}"#
      return ["/issues": #"{"list":[{"id":1,"rev":1,"slug":"\#(slug)"}]}"#, "/by/\(slug)": list, "/of/\(slug)": list]
    }
    bench.serve(answers("a", 1, 2, 3))
    #expect(try await bench.sync(bySlug).added == 4)
    bench.serve(answers("a", 1, 2))
    #expect(try await bench.sync(bySlug, allowRemoval: true, after: 60).removed == 0)
    bench.serve(answers("b", 1, 2))
    #expect(try await bench.sync(bySlug, allowRemoval: true, after: 120).removed == 1)
    bench.serve(answers("b", 1))
    // Another path in the definition is another list (P8.9).
    #expect(try await bench.sync(resources("/of/{issue.slug}"), after: 180).removed == 1)
  }

  @Test("E7.4: the list that has the parent is requested if the parent is a child itself", arguments: [true, false])
  func grandparent(_ isGone: Bool) async throws {
    var documents = Forest.documents(9)
    for id in 1...9 { documents[id]?.items[3] = .init() }
    let (bench, forest) = try await Forest.synced(documents)
    forest.update {
      $0.documents[2]?.revision = 2
      $0.documents[2]?.items[1]?.revision = 2
      $0.statuses["/docs/2/items/1/parts"] = 404
    }
    #expect(try await bench.sync(Forest.all, after: 60).isDegraded == false)
    if isGone { forest.update { $0.documents[2]?.items[1] = nil } }
    _ = bench.asked()
    let record = try await bench.sync(Forest.all, after: 120)
    let asked = bench.asked().sorted()
    #expect(asked.contains("/docs/2/items") && !asked.contains("/docs/3/items"))
    #expect(asked.contains("/docs/2/items/1") == isGone)
    #expect(record.isDegraded == !isGone && record.removed == (isGone ? 2 : 0))
  }
}
