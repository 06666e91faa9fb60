import FoundationEssentials
import RosterCore
import RosterSync
import Testing

@testable import RosterCache

/// Lists that 404 answers, and lists below parents that a pull misses.
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

  private static func state(_ bench: SyncBench) throws -> [String] {
    try bench.ask("SELECT state FROM resource_lists WHERE resource = 'comment' AND parent_id = 2")
  }

  /// All issues, of which issue 2 has this revision; its list is 404.
  private static func missing(_ revision: Int) -> [String: String] {
    var answers = first
    answers["/issues/2/comments"] = nil
    answers["/issues"] = #"{"list":[\#((1...9).map { record($0, $0 == 2 ? revision : $0) }.joined(separator: ","))]}"#
    return answers
  }

  private static func listed() async throws -> (SyncBench, [Resource]) {
    var issue = issue(.twice)
    issue.since = nil
    let (bench, resources) = (try SyncBench([:]), [issue, comment])
    bench.serve(first)
    #expect(try await bench.sync(resources).error == nil)
    _ = bench.asked()
    return (bench, resources)
  }

  @Test("23: a list that is 404 again has failed, and is requested after pauses that double to a day")
  func pauses() async throws {
    let (bench, resources) = try await Self.listed()
    for (time, isAsked, state) in [
      (60.0, true, "vanished"), (120, true, "failed"), (179, false, "failed"), (180, true, "failed"),
      (299, false, "failed"), (300, true, "failed"), (539, false, "failed"), (540, true, "failed"),
      (200_000, true, "failed"), (286_399, false, "failed"), (286_400, true, "failed"), (300_000, false, "failed"),
    ] {
      bench.serve(Self.missing(20))
      let record = try await bench.sync(resources, after: time)
      #expect(record.exit == 0 && record.isDegraded == (isAsked && state == "failed"), "\(time)")
      #expect(bench.asked().contains("/issues/2/comments") == isAsked, "\(time)")
      #expect(try Self.state(bench) == [state], "\(time)")
      #expect(try CacheReader(path: bench.path).facts().failedLists.map(\.keys) == ["2"], "\(time)")
    }
    #expect(try bench.ask("SELECT count(*) FROM comments WHERE issue_id = 2") == ["1"])
    // A change of the parent ends the pause, and an answer ends the failure.
    var answers = Self.missing(21)
    answers["/issues/2/comments"] = Self.list(Self.record(1), Self.record(2))
    bench.serve(answers)
    #expect(try await bench.sync(resources, after: 300_060).added == 1)
    #expect(try Self.state(bench) == ["current"])
    bench.serve(Self.missing(22))
    #expect(try await bench.sync(resources, after: 300_120).isDegraded == false)
    #expect(try Self.state(bench) == ["vanished"])
  }

  @Test("16, 23: a removed parent takes its failed list along")
  func removedParent() async throws {
    let (bench, resources) = try await Self.listed()
    for time in [60.0, 120] {
      bench.serve(Self.missing(20))
      #expect(try await bench.sync(resources, after: time).exit == 0)
    }
    var answers = Self.missing(20)
    answers["/issues"] = #"{"list":[\#(Self.all.filter { $0 != Self.record(2, 2) }.joined(separator: ","))]}"#
    for time in [180.0, 240] {
      bench.serve(answers)
      #expect(try await bench.sync(resources, after: time).exit == 0)
    }
    #expect(try bench.ask("SELECT count(*) FROM comments WHERE issue_id = 2") == ["0"])
    #expect(try Self.state(bench) == [])
  }

  @Test("23: any number of lists that are 404 again fails no sync")
  func many() async throws {
    let (bench, resources) = try await Self.listed()
    let gone = #"{"list":[\#((1...9).map { Self.record($0, 20) }.joined(separator: ","))]}"#
    for time in [60.0, 120] {
      bench.serve(["/issues": gone])
      #expect(try await bench.sync(resources, after: time).exit == 0)
    }
    #expect(try bench.ask("SELECT count(*) FROM comments") == ["9"])
  }

  @Test("22: no list below a missed parent is requested, at any depth", arguments: [Resource.Removal.twice, .never])
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
    "22: no list below an absent parent is requested, until a pull has the parent again",
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
    "22: no list below a rejected parent is requested, also if its page is unchanged in the next incremental pull",
    arguments: [true, false])
  func rejectedParent(_ isRestUnchanged: Bool) async throws {
    var (issue, comment) = (Self.issue(.twice), Self.comment)
    let pages = Resource.Pages(.next(at: .body(at("next"))))
    issue.pages = pages
    issue.since?.listing.pages = pages
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
    "18, 22: the list of a parent is requested if the pull rejects one record of its key and stores another",
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
    "11, 22: a record that two pulls of a list miss is removed, also if its parent gives another address")
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
    // Another path in the definition is another list.
    #expect(try await bench.sync(resources("/of/{issue.slug}"), after: 180).removed == 1)
  }
}
