import FoundationEssentials
import RosterCore
import RosterSync
import Synchronization
import Testing

@testable import RosterCache

/// Whole syncs of resources with a list for each parent.
struct ChildrenTests {
  @Test("8, 16, 22, 52: three levels and a detail are published in one sync")
  func levels() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(4))
    let record = try await bench.sync(Forest.all)
    #expect(record.outcome == .published && record.error == nil && record.lists == 16)
    #expect(try Forest.lines(in: bench) == forest.lines)
    #expect(try bench.ask("SELECT count(*) FROM items WHERE id = 1") == ["4"])
    #expect(try bench.ask("SELECT count(DISTINCT record_id) FROM items") == ["8"])
  }

  @Test("22: an unchanged sync requests no list, and a changed parent costs its lists only")
  func changed() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(4))
    #expect(try await bench.sync(Forest.all, after: 600).outcome == .unchanged)
    #expect(bench.asked().sorted() == ["/docs?page=1", "/docs?page=2"])
    forest.update {
      $0.documents[2]?.revision = 2
      $0.documents[2]?.items[3] = .init(parts: ["x": 1])
    }
    #expect(try await bench.sync(Forest.all, after: 1200).added == 2)
    #expect(
      bench.asked().sorted() == [
        "/docs/2/detail", "/docs/2/items", "/docs/2/items/3/parts", "/docs?page=1", "/docs?page=2",
      ])
    #expect(try Forest.lines(in: bench) == forest.lines)
    #expect(
      try bench.ask("SELECT after FROM changes WHERE resource = 'item' AND kind = 'added'").first?
        .hasPrefix(#"{"doc_id":2,"#) == true)
  }

  /// Items that are skipped unless they have the revision of their document.
  private static let comparedItem: Resource = {
    var item = Forest.item(Each(of: "doc"))
    item.conditions = [.init(at("rev"), .equal(.text("{doc.rev}")))]
    return item
  }()

  @Test("52: where compares a child with its own parent")
  func parentConditions() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    let resources = [Forest.document(), Self.comparedItem]
    forest.update { $0.documents[2]?.revision = 7 }
    #expect(try await bench.sync(resources).skipped == 2)
    #expect(try bench.ask("SELECT doc_id || ':' || id FROM items ORDER BY 1") == ["1:1", "1:2", "3:1", "3:2"])
    forest.update { $0.documents[2]?.items[1]?.revision = 7 }
    #expect(try await bench.sync(resources, after: 60).added == 1)
    #expect(try bench.ask("SELECT doc_id || ':' || id FROM items ORDER BY 1") == ["1:1", "1:2", "2:1", "3:1", "3:2"])
  }

  @Test("11, 52: what a new value of the parent skips is removed, also if the list is the same as before")
  func movedCondition() async throws {
    let (bench, forest) = try Forest.bench([1: .init(items: [1: .init(revision: 1), 2: .init(revision: 2)])])
    for revision in [1, 2, 1] {
      forest.update { $0.documents[1]?.revision = revision }
      _ = try await bench.sync([Forest.document(), Self.comparedItem], allowRemoval: true, after: 60)
      #expect(try bench.ask("SELECT id FROM items") == ["\(revision)"])
    }
  }

  @Test("22: without changed and whole_every, each sync requests every list")
  func everySync() async throws {
    let resources = [Forest.document(), Forest.item(Each(of: "doc"))]
    let (bench, forest) = try await Forest.synced(Forest.documents(2), with: resources)
    forest.update { $0.documents[1]?.items[2]?.revision = 5 }
    #expect(try await bench.sync(resources, after: 60).changed == 1)
    #expect(bench.asked().sorted() == ["/docs/1/items", "/docs/2/items", "/docs?page=1"])
    #expect(try bench.ask("SELECT count(*) FROM resource_lists WHERE whole_at IS NULL AND resource = 'item'") == ["2"])
  }

  @Test("22: each list is pulled whole at an age between half of whole_every and all of it")
  func due() async throws {
    let resources = [
      Forest.document(), Forest.item(Each(of: "doc", changed: ["rev"], wholeEvery: .every(.seconds(1000)))),
    ]
    let (bench, _) = try await Forest.synced(Forest.documents(30), with: resources)
    var lists: [Int] = []
    for time in [400.0, 750, 1001] {
      _ = bench.asked()
      _ = try await bench.sync(resources, after: time)
      lists.append(bench.asked().filter { $0.hasSuffix("items") }.count)
    }
    #expect(lists[0] == 0 && lists[1] > 0 && lists[2] > 0 && lists[1] + lists[2] >= 30)
  }

  @Test(
    "21, 22: a list whose last whole pull is in the future is due, because the clock was wrong",
    arguments: [true, false])
  func clockSetBack(isIncremental: Bool) async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var item = isIncremental ? Forest.changedItem : Forest.item()
    item.since?.wholeEvery = nil
    item.each = Each(
      of: "doc", changed: ["rev"], wholeEvery: .every(.seconds(1000)),
      empty: [.init("size", .equal(.integer(0)))])
    let resources = [Forest.document(), item]
    _ = try await bench.sync(resources, after: 365 * 86_400)
    _ = bench.asked()
    // The size is none of the columns whose change leads to a request.
    forest.update { $0.documents[3]?.items[3] = .init() }
    for (time, lists) in [(0.0, (1...3).map { "/docs/\($0)/items" }), (10, [])] {
      #expect(try await bench.sync(resources, after: time).error == nil)
      #expect(bench.asked().sorted().filter { $0.contains("/items") } == lists)
    }
    #expect(try bench.ask("SELECT count(*) FROM items") == ["7"])
  }

  @Test("22: a list that is never due is not requested after the clock was set back")
  func neverDue() async throws {
    let (bench, _) = try Forest.bench(Forest.documents(3))
    let resources = [Forest.document(), Forest.item(Each(of: "doc", changed: ["rev"], wholeEvery: .never))]
    _ = try await bench.sync(resources, after: 365 * 86_400)
    _ = bench.asked()
    _ = try await bench.sync(resources)
    #expect(bench.asked().sorted() == ["/docs?page=1"])
  }

  @Test(
    "22: a parent with a time stamp as young as the answer is asked again, unless it is more than a day after it",
    arguments: [
      (299, #"["2026-01-01T00:00:00Z"]"#, true), (301, #"["2026-01-01T00:00:00Z"]"#, false),
      (299, #"[5,"text","2026-01-01 00:00:00"]"#, true), (299, #"[5,null,"text","2026-01-01"]"#, false),
      (0, #"["2026-01-01T14:00:00"]"#, true), (0, #"["2026-01-02T00:00:00Z"]"#, true),
      (0, #"["2026-01-02T00:00:01Z","9999-12-31T23:59:59Z"]"#, false),
      (0, #"["2099-01-01T00:00:00Z","2026-01-01T00:00:00Z"]"#, true),
    ] as [(Double, String, Bool)])
  func young(seconds: Double, columns: String, isYoung: Bool) throws {
    let start = try #require(Date(rfc3339: "2026-01-01T00:00:00.000Z"))
    #expect(Each.isYoung(columns, answered: start.timeIntervalSince1970 + seconds) == isYoung)
  }

  @Test("16: a removed parent takes its children with it, and they are not asked for")
  func removed() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    forest.update { $0.documents[3] = nil }
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.removed == 5 && record.error == nil)
    #expect(try Forest.lines(in: bench) == forest.lines)
    #expect(!bench.asked().contains { $0.hasPrefix("/docs/3/") })
    let removed = try bench.ask("SELECT resource FROM changes WHERE kind = 'removed' ORDER BY 1")
    #expect(removed == ["detail", "doc", "item", "item", "part"])
    #expect(try bench.ask("SELECT count(*) FROM resource_lists WHERE parent_id = 3 AND resource = 'item'") == ["0"])
  }

  @Test("16: children of removed parents count for max_removal")
  func guarded() async throws {
    var documents = Forest.documents(9)
    for key in 10...40 { documents[1]?.items[key] = .init() }
    let (bench, forest) = try await Forest.synced(documents)
    forest.update { $0.documents[1] = nil }
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 65 && record.trouble?.kind == .guarded)
    #expect(try await bench.sync(Forest.all, allowRemoval: true, after: 120).error == nil)
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("22: the children of a parent that the pull misses stay, and are not requested")
  func missed() async throws {
    let resources = [Forest.document(removal: .twice), Forest.item(Each(of: "doc"))]
    let (bench, forest) = try await Forest.synced(Forest.documents(9), with: resources)
    forest.update { $0.documents[4] = nil }
    #expect(try await bench.sync(resources, after: 60).removed == 0)
    #expect(!bench.asked().contains("/docs/4/items"))
    #expect(try bench.ask("SELECT count(*) FROM items WHERE doc_id = 4") == ["2"])
    #expect(try await bench.sync(resources, after: 120).removed == 3)
  }

  @Test("22: the children of a parent that by_key finds and that is rejected stay, and are not requested")
  func rejectedAnswer() async throws {
    let resources = [Forest.document(), Forest.item(Each(of: "doc"))]
    let (bench, forest) = try await Forest.synced(Forest.documents(9), with: resources)
    forest.update { state in
      state.documents[4] = nil
      state.bodies["/docs/4"] = #"{"id":4,"rev":"x"}"#
      state.bodies["/docs/4/items"] = #"{"count":0,"list":[]}"#
    }
    let record = try await bench.sync(resources, after: 60)
    #expect(record.exit == 0 && record.rejected == 1 && record.removed == 0)
    let asked = bench.asked().sorted()
    #expect(asked.contains("/docs/4") && asked.contains("/docs/5/items") && !asked.contains("/docs/4/items"))
    #expect(try bench.ask("SELECT count(*) FROM items WHERE doc_id = 4") == ["2"])
  }

  @Test("22: a list that empty or none declares empty has no records")
  func empty() async throws {
    var documents = Forest.documents(6)
    documents[2] = .init()
    let (bench, forest) = try Forest.bench(documents)
    forest.update { $0.statuses["/docs/3/items"] = 403 }
    let each = Each(of: "doc", changed: ["rev"], empty: [.init("size", .equal(.integer(0)))])
    var item = Forest.item(each)
    item.answers.noRecords.statuses = [403]
    let record = try await bench.sync([Forest.document(), item])
    #expect(record.error == nil && record.lists == 5)
    #expect(!bench.asked().contains("/docs/2/items"))
    #expect(try bench.ask("SELECT count(*) FROM items WHERE doc_id IN (2, 3)") == ["0"])
  }

  @Test(
    "22: a list is requested when its parent stops being empty, and loses its records when it becomes empty")
  func emptied() async throws {
    var documents = Forest.documents(6)
    documents[2] = .init()
    let each = Each(of: "doc", changed: ["rev"], empty: [.init("size", .equal(.integer(0)))])
    let resources = [Forest.document(), Forest.item(each)]
    let (bench, forest) = try await Forest.synced(documents, with: resources)
    forest.update { $0.documents[2]?.items = [7: .init()] }
    #expect(try await bench.sync(resources, after: 600).added == 1)
    #expect(bench.asked().sorted() == ["/docs/2/items", "/docs?page=1", "/docs?page=2"])
    forest.update { $0.documents[3]?.items = [:] }
    _ = try await bench.sync(resources, allowRemoval: true, after: 1200)
    #expect(bench.asked().sorted().filter { $0.hasSuffix("items") } == [])
    #expect(try bench.ask("SELECT count(*) FROM items WHERE doc_id = 3") == ["0"])
    _ = try await bench.sync(resources, after: 1800)
    #expect(bench.asked().sorted() == ["/docs?page=1", "/docs?page=2"])
  }

  @Test("22: if the parent of an empty list changes and the list stays empty, its records are asked for again")
  func emptyAgain() async throws {
    let each = Each(of: "doc", changed: ["rev", "size"], empty: [.init("rev", .equal(.integer(50)))])
    let resources = [Forest.document(), Forest.item(each)]
    let (bench, forest) = try await Forest.synced(Forest.documents(2), with: resources)
    forest.update { $0.documents[1]?.revision = 50 }
    #expect(try await bench.sync(resources, allowRemoval: true, after: 60).removed == 0)
    forest.update { $0.documents[1]?.items[1] = nil }
    _ = bench.asked()
    #expect(try await bench.sync(resources, allowRemoval: true, after: 120).removed == 1)
    #expect(bench.asked().sorted() == ["/docs/1/items/1", "/docs/1/items/2", "/docs?page=1"])
    #expect(try bench.ask("SELECT id FROM items WHERE doc_id = 1") == ["2"])
  }

  @Test("13: if a list has become empty, the control question has a key of another list")
  func controlOfAnotherList() async throws {
    let resources = [Forest.document(), Forest.item(Each(of: "doc"))]
    let (bench, forest) = try await Forest.synced(Forest.documents(2), with: resources)
    forest.update { state in
      state.documents[1]?.items = [:]
      for key in 1...2 { state.statuses["/docs/2/items/\(key)"] = 404 }
    }
    let record = try await bench.sync(resources, allowRemoval: true, after: 60)
    #expect(record.removed == 0 && record.trouble?.kind == .wrongByKey)
    #expect(bench.asked().filter { $0.hasPrefix("/docs/2/items/") }.count == 1)
    forest.update { $0.statuses = [:] }
    #expect(try await bench.sync(resources, allowRemoval: true, after: 2000).removed == 2)
    #expect(try bench.ask("SELECT count(*) FROM items WHERE doc_id = 1") == ["0"])
  }

  @Test("16, 56: parents and children that are added to a cache together are published by the next sync")
  func addedTogether() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var other = Forest.document()
    (other.name, other.table) = ("other", "others")
    _ = try await bench.sync([other])
    let record = try await bench.sync(Forest.all + [other])
    #expect(record.outcome == .published && record.error == nil, "\(record.error ?? "")")
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("16, 56: if the key of a parent changes, its children are pulled again and have the right parents")
  func otherKey() async throws {
    var documents = Forest.documents(3)
    for id in 1...3 { documents[id]?.revision = 4 - id }
    let (bench, forest) = try Forest.bench(documents)
    var byRevision = Forest.document()
    byRevision.key = at("rev")
    byRevision.removal = .twice
    let others = [Forest.part, Forest.item(), Forest.detail]
    _ = try await bench.sync(others + [byRevision])
    var byID = byRevision
    byID.key = at("id")
    let record = try await bench.sync(others + [byID], after: 600)
    #expect(record.exit == 0 && record.error == nil, "\(record.error ?? "")")
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("11: a child that moves is added to its new parent and removed from the old one")
  func moved() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    forest.update {
      $0.documents[1]?.items[2] = nil
      $0.documents[1]?.revision = 2
      $0.documents[5]?.items[2]?.revision = 7
      $0.documents[5]?.items[9] = .init(parts: ["moved": 1])
      $0.documents[5]?.revision = 2
    }
    #expect(try await bench.sync(Forest.all, after: 60).error == nil)
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("17: the drift of one list is repeated for that list only")
  func drift() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(4))
    forest.update { $0.wrongCounts = 1 }
    #expect(try await bench.sync(Forest.all).error == nil)
    #expect(bench.asked().filter { $0.hasSuffix("/items") }.count == 5)
    #expect(try Forest.lines(in: bench) == forest.lines)
    #expect(try bench.ask("SELECT DISTINCT proof FROM resource_lists WHERE resource = 'item'") == ["count"])
  }

  @Test("23: a failed list keeps its records, degrades the state, and is requested again")
  func failed() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    forest.update {
      $0.documents[2]?.revision = 2
      $0.documents[2]?.items[1]?.revision = 2
      $0.documents[4]?.revision = 2
      $0.statuses["/docs/2/items"] = 403
    }
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && record.isDegraded && record.listsFailed == 1)
    #expect(record.trouble?.kind == .failedLists)
    #expect(bench.reported().contains { $0.name == .listFailed && $0.of == "[2]" })
    #expect(try bench.ask("SELECT state FROM resource_lists WHERE resource = 'item' AND parent_id = 2") == ["failed"])
    forest.update { $0.statuses = [:] }
    #expect(try await bench.sync(Forest.all, after: 120).error == nil)
    #expect(try Forest.lines(in: bench) == forest.lines)
    #expect(try bench.ask("SELECT count(*) FROM resource_lists WHERE state <> 'current'") == ["0"])
  }

  @Test("23, 47: 404 means that the parent disappeared, which degrades nothing; later the list has failed")
  func vanished() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    forest.failItems(of: [2], with: 404)
    func state() throws -> [String] {
      try bench.ask("SELECT state FROM resource_lists WHERE resource = 'item' AND parent_id = 2")
    }
    let first = try await bench.sync(Forest.all, after: 60)
    #expect(!first.isDegraded && first.trouble == nil && first.listsFailed == 1)
    #expect(bench.reported().contains { $0.name == .listVanished && $0.of == "[2]" })
    #expect(try state() == ["vanished"])
    let second = try await bench.sync(Forest.all, after: 120)
    #expect(second.isDegraded && second.trouble?.kind == .failedLists)
    #expect(second.trouble?.concerned.dropFirst().map(\.name) == ["2"])
    #expect(try state() == ["failed"])
    #expect(try bench.ask("SELECT count(*) FROM items WHERE doc_id = 2") == ["2"])
  }

  @Test("23: a list that failed for another reason vanishes before it fails because of its parent")
  func vanishedAfterFailure() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    forest.failItems(of: [2], with: 403)
    for (seconds, status, state) in [
      (60.0, 403, "failed"), (120, 403, "failed"), (180, 404, "vanished"), (240, 404, "failed"), (300, 404, "failed"),
    ] {
      forest.update { $0.statuses["/docs/2/items"] = status }
      #expect(try await bench.sync(Forest.all, after: seconds).isDegraded == (state == "failed"))
      #expect(try bench.ask("SELECT state FROM resource_lists WHERE resource = 'item' AND parent_id = 2") == [state])
    }
  }

  @Test(
    "23: the message about a 404 names no_records on the first page of a list, and beyond on a later one",
    arguments: [1, 2])
  func hintOfVanished(page: Int) async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(2))
    var item = Forest.item()
    item.pages = .init(.number(last: nil))
    forest.update { state in
      for id in 1...2 {
        state.bodies["/docs/\(id)/items?page=1"] = #"{"list":[{"id":1,"rev":1}]}"#
        state.bodies["/docs/\(id)/items?page=2"] = #"{"list":[]}"#
      }
      state.statuses["/docs/1/items?page=\(page)"] = 404
    }
    #expect(try await bench.sync([Forest.document(), item]).exit == 0)
    let error = try bench.ask("SELECT error FROM resource_lists WHERE state = 'vanished'").first ?? ""
    let hint =
      page == 1
      ? "if that means an empty list, set no_records = [404] in [resource.item]"
      : "if that means the end of the list, set beyond = [404] in pages"
    #expect(error.hasSuffix(hint))
  }

  @Test("23: more than 8 failed lists fail the sync if they are more than half of all", arguments: [9, 10, 11])
  func tooMany(_ count: Int) async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(20))
    forest.failItems(of: 1...count, with: 403)
    // Later, only the lists that failed are due.
    for seconds in [60, 120] {
      let record = try await bench.sync(Forest.all, after: Double(seconds))
      #expect(record.exit == (count > 10 ? 65 : 0) && (record.exit != 0 || record.isDegraded), "\(record)")
    }
  }

  @Test("23: answers 404 fail no sync, however many they are")
  func manyVanished() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(20))
    forest.failItems(of: 1...12, with: 404)
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && !record.isDegraded && record.listsFailed == 12)
    let second = try await bench.sync(Forest.all, after: 120)
    #expect(second.exit == 0 && second.isDegraded)
  }

  @Test("23: a child of which no list was ever obtained fails the sync")
  func neverObtained() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    forest.failItems(of: 1...3, with: 404)
    #expect(try await bench.sync(Forest.all).exit == 65)
    #expect(try bench.ask("SELECT count(*) FROM docs") == ["0"])
  }

  @Test("23: a child whose first lists appear after the first snapshot fails the sync if none is obtained")
  func neverObtainedLater() async throws {
    let (bench, forest) = try Forest.bench([1: .init()])
    let each = Each(of: "doc", changed: ["rev"], empty: [.init("size", .equal(.integer(0)))])
    let resources = [Forest.document(), Forest.item(each)]
    #expect(try await bench.sync(resources).exit == 0)
    forest.update {
      $0.documents[2] = Forest.documents(2)[2]
      $0.statuses["/docs/2/items"] = 403
    }
    #expect(try await bench.sync(resources, after: 60).exit == 65)
    #expect(try bench.ask("SELECT id FROM docs") == ["1"])
    forest.update { $0.statuses = [:] }
    #expect(try await bench.sync(resources, after: 2000).added == 3)
    forest.failItems(of: [2], with: 403)
    #expect(try await bench.sync(resources, after: 2060).exit == 0)
  }

  @Test("23: a list that needs no request does not count as obtained", arguments: [404, 503])
  func emptyBesideFailed(_ status: Int) async throws {
    var documents = Forest.documents(3)
    documents[2] = .init()
    let (bench, forest) = try Forest.bench(documents)
    forest.failItems(of: [1, 3], with: status)
    let each = Each(of: "doc", empty: [.init("size", .equal(.integer(0)))])
    #expect(try await bench.sync([Forest.document(), Forest.item(each)]).exit == (status == 404 ? 65 : 69))
    #expect(try bench.ask("SELECT count(*) FROM docs") == ["0"])
  }

  @Test("23: a server error is a failed list, also if no other list is due, and eight in a row fail the sync")
  func serverErrors() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    forest.failItems(of: [1], with: 503)
    forest.update { $0.documents[2]?.revision = 2 }
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && record.listsFailed == 1)
    let alone = try await bench.sync(Forest.all, after: 120)
    #expect(alone.exit == 0 && alone.listsFailed == 1)
    forest.failItems(of: 1...9, with: 503)
    forest.update { state in for id in 1...9 { state.documents[id]?.revision = 3 } }
    #expect(try await bench.sync(Forest.all, after: 180).exit == 69)
  }

  @Test("23: a server error fails the sync if no list was obtained, whatever failed first", arguments: [1, 2])
  func serverErrorAlone(_ malformed: Int) async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(2))
    forest.failItems(of: [3 - malformed], with: 503)
    forest.update { state in
      state.documents[malformed]?.revision = 2
      state.bodies["/docs/\(malformed)/items"] = "{"
    }
    #expect(try await bench.sync(Forest.all, after: 60).exit == 69)
  }

  @Test("23: server errors with vanished lists between them are not in a row")
  func serverErrorsApart() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(18))
    forest.update { state in for id in 1...2 { state.documents[id]?.revision = 2 } }
    forest.failItems(of: stride(from: 3, through: 17, by: 2), with: 503)
    forest.failItems(of: stride(from: 4, through: 18, by: 2), with: 404)
    let record = try await bench.sync(Forest.all, after: 60)
    #expect(record.exit == 0 && record.isDegraded && record.listsFailed == 16, "\(record.error ?? "")")
  }

  @Test("23: a list counts once, however many of its pages end with a server error")
  func serverErrorsOfOneList() async throws {
    let bench = try SyncBench([:])
    bench.shelf.answer { request, _ in
      let isChild = request.url.contains("/items")
      let page = request.url.split(separator: "=").dropFirst().first.flatMap { Int($0) } ?? 1
      if isChild, page > 1, !request.url.contains("/docs/7/") { return Response(status: 503) }
      let records = (isChild ? page...page : 1...7).map { #"{"id":\#($0)}"# }
      return Response(json: #"{"last":9,"list":[\#(records.joined(separator: ","))]}"#)
    }
    let id = Resource.Column("id", at: at("id"), .integer)
    let resources = [
      Resource(
        name: "doc", path: "/docs", records: at("list"), table: "docs", removal: .twice, pages: .init(.one),
        columns: [id]),
      Resource(
        name: "item", path: "/docs/{doc.id}/items", records: at("list"), table: "items", removal: .twice,
        pages: .init(.number(last: .body(at("last")))), columns: [id], each: Each(of: "doc")),
    ]
    let record = try await bench.sync(resources)
    #expect(record.exit == 0 && record.listsFailed == 6, "\(record.error ?? "")")
  }

  @Test("23: a pause by upstream ends the sync, and nothing is published")
  func refused() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(5))
    forest.update { $0.patience = 6 }
    #expect(try await bench.sync(Forest.all).exit == 69)
    #expect(try bench.ask("SELECT count(*) FROM docs") == ["0"])
  }

  @Test(
    "23, 25: a list with a Retry-After that is too long ends the sync, and no other list waits for it",
    .timeLimit(.minutes(1)), arguments: [503, 403])
  func longPause(_ status: Int) async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(30))
    forest.update { state in
      state.statuses = ["/docs/4/items": status]
      state.headers = [.init("Retry-After", "3600")]
    }
    let record = try await bench.sync([Forest.document(), Forest.item()])
    #expect(record.exit == 69, "\(record.error ?? "")")
    #expect(record.outcome == .failed && record.error?.contains("/items") == true)
    #expect(try bench.ask("SELECT count(*) FROM docs") == ["0"])
  }

  @Test(
    "13, 23: a by_key answer with a Retry-After that is too long ends the questions, and a sync with lists to pull",
    .timeLimit(.minutes(1)))
  func longPauseOfKeys() async throws {
    let both = [Forest.document(), Forest.item()]
    for (resources, isDue, exit) in [([both[0]], false, Int32(0)), (both, false, 0), (both, true, 69)] {
      let (bench, forest) = try Forest.bench(Forest.documents(30))
      _ = try await bench.sync(resources)
      forest.update { state in
        for id in 11...30 {
          state.documents[id] = nil
          state.statuses["/docs/\(id)"] = 503
        }
        if isDue { state.documents[1]?.revision += 1 }
        state.headers = [.init("Retry-After", "3600")]
      }
      _ = bench.asked()
      let record = try await bench.sync(resources, allowRemoval: true)
      #expect(record.exit == exit && record.removed == 0, "\(record.error ?? "")")
      #expect(bench.asked().filter { !$0.contains("?") }.count <= 4)
    }
  }

  @Test(
    "13, 23: a key whose by_key answer always has a Retry-After that is too long keeps nothing else from the cache",
    .timeLimit(.minutes(1)), arguments: ["/docs/{key}", "/docs/one?key={key}"])
  func lastingPauseOfKey(byKey: String) async throws {
    var both = [Forest.document(), Forest.item(Each(of: "doc"))]
    both[0].byKey = byKey
    func address(_ id: Int) -> String { byKey.replacing("{key}", with: "\(id)") }
    let (bench, forest) = try Forest.bench(Forest.documents(10))
    _ = try await bench.sync(both)
    forest.update { state in
      state.documents[10] = nil
      for id in 1...8 { state.bodies[address(id)] = #"{"id":\#(id),"rev":1,"size":1}"# }
      state.documents[1]?.items[7] = .init()
      state.statuses[address(10)] = 503
      state.headers = [.init("Retry-After", "3600")]
    }
    let ended = try await bench.sync(both, after: 1)
    #expect(ended.exit == 69 && ended.outcome == .failed, "\(ended.error ?? "")")
    _ = bench.asked()
    forest.update { $0.documents[9] = nil }
    let next = try await bench.sync(both, after: 3700)
    #expect(next.exit == 0 && next.added == 1 && next.removed > 0 && next.isDegraded, "\(next.error ?? "")")
    #expect(next.trouble?.kind == .unasked)
    let asked = bench.asked()
    #expect(asked.contains(address(9)) && !asked.contains(address(10)), "this sync asks for the other key only")
    #expect(try await bench.sync(both, after: 7400).exit == 69)
    forest.update { $0.statuses = [:] }
    #expect(try await bench.sync(both, after: 11_100).removed == 0)
    let last = try await bench.sync(both, allowRemoval: true, after: 11_200)
    #expect(last.error == nil && last.removed > 0, "the key is not asked for again: \(last.error ?? "")")
  }

  @Test("40: an interrupted first pull transfers each finished list once", arguments: [4, 7, 11, 19])
  func interrupted(_ patience: Int) async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(8))
    forest.update { $0.patience = patience }
    #expect(try await bench.sync(Forest.all).exit == 69)
    forest.update { $0.patience = nil }
    #expect(try await bench.sync(Forest.all, after: 60).error == nil)
    #expect(try Forest.lines(in: bench) == forest.lines)
    let lists = bench.shelf.asked().filter { $0.status == 200 && !$0.target.hasPrefix("/docs?") }.map(\.target)
    #expect(Set(lists).count == lists.count)
  }

  @Test("40: a kept list of a parent that changed since is requested again")
  func keptAndChanged() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    forest.update { $0.patience = 5 }
    _ = try await bench.sync(Forest.all)
    forest.update { state in
      state.patience = nil
      for id in 1...3 {
        state.documents[id]?.revision = 2
        state.documents[id]?.items[7] = .init()
      }
    }
    #expect(try await bench.sync(Forest.all, after: 60).error == nil)
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("27: many lists share the limit of requests in flight")
  func concurrency() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(300))
    #expect(try await bench.sync(Forest.all).lists == 1200)
    #expect(try Forest.lines(in: bench) == forest.lines)
  }

  @Test("51: children are listed and shown by the keys of their ancestors")
  func selected() async throws {
    let (bench, _) = try await Forest.synced(Forest.documents(3))
    let reader = try CacheReader(path: bench.path)
    #expect(try reader.list("item", of: ["2"]).records.count == 2)
    #expect(try reader.list("part", of: ["2", "1"]).total == 1)
    #expect(try reader.show("item", key: ["1"], of: ["3"]).record?.contains(#""doc_id":3"#) == true)
    #expect(try reader.show("detail", key: ["2"]).record?.contains("detail 2 1") == true)
    #expect(try reader.show("item", key: ["9"], of: ["3"]).record == nil)
    let several = #expect(throws: Failure.self) { try reader.show("item", key: ["1"]) }
    #expect(several?.kind == .usage && several?.cause.contains("the records 1, 2, 3 of doc") == true)
    #expect(throws: Failure.self) { try reader.list("part", of: ["2"]) }
    #expect(throws: Failure.self) { try reader.list("doc", of: ["2"]) }
    #expect(throws: Failure.self) { try reader.list("item", of: ["77"]) }
  }

  @Test(
    "7, 51: the key of a detail is that of its parent in changes and in the view removed",
    arguments: [false, true])
  func keysOfDetails(isComposite: Bool) async throws {
    let bench = try SyncBench([:])
    let upstream = Mutex((names: ["s1", "s2"], revision: 1))
    bench.shelf.answer { request, _ in
      let (names, revision) = upstream.withLock { $0 }
      let list = "[\(names.map { #"{"id":"\#($0)","n":1}"# }.joined(separator: ","))]"
      return Response(json: (request.url.hasSuffix("/p") ? list : #"{"h":\#(revision)}"#))
    }
    func key(_ name: String) -> String { isComposite ? #"["\#(name)",1]"# : #""\#(name)""# }
    let resources = Self.detailed(isComposite)
    _ = try await bench.sync(resources)
    upstream.withLock { $0.revision = 2 }
    _ = try await bench.sync(resources)
    #expect(try bench.keys(of: "d") == [key("s1"), key("s2")])
    upstream.withLock { $0.names = ["s1"] }
    for _ in 1...2 { _ = try await bench.sync(resources, allowRemoval: true) }
    #expect(try bench.keys(of: "d") == [key("s1"), key("s2"), key("s2")])
    let found = try CacheReader(path: bench.path).show("d", key: isComposite ? ["s1", "1"] : ["s1"])
    #expect(found.changes.map(\.key) == [key("s1")])
    let removed = isComposite ? key("s2") : "s2"
    #expect(try bench.ask("SELECT key FROM removed") == [removed, removed])
    // The parent and its detail return with other record ids.
    upstream.withLock { $0.names = ["s1", "s2"] }
    _ = try await bench.sync(resources)
    #expect(try bench.ask("SELECT key FROM removed").isEmpty)
  }

  @Test(
    "16: the view removed does not have children, grandchildren and their details that returned with their parent",
    arguments: [true, false])
  func returnedBelow(_ isComposite: Bool) async throws {
    let bench = try SyncBench([:])
    let names = Mutex(["s1", "s2"])
    bench.shelf.answer { request, _ in
      let all = names.withLock { $0 }
      let body =
        if request.url.hasSuffix("/p") {
          "[\(all.map { #"{"id":"\#($0)","n":1}"# }.joined(separator: ","))]"
        } else if request.url.hasSuffix("/f") { #"{"h":1}"# } else { #"[{"id":1},{"id":2}]"# }
      return Response(json: body)
    }
    func below(_ parent: String, _ name: String, _ style: Resource.Style = .one) -> Resource {
      let id = Resource.Column("id", at: at("id"), .integer)
      return Resource(
        name: name, path: "/{\(parent).id}/\(name)", table: name, removal: .twice, pages: .init(style),
        columns: style == .record ? [.init("h", at: at("h"), .integer)] : [id],
        each: Each(of: parent))
    }
    let parent = Self.detailed(isComposite)[1]
    let resources = [parent, below("p", "c"), below("c", "g"), below("c", "f", .record)]
    #expect(try await bench.sync(resources).exit == 0)
    names.withLock { $0 = ["s1"] }
    for _ in 1...2 { _ = try await bench.sync(resources, allowRemoval: true) }
    let removed = "SELECT resource || count(*) FROM removed GROUP BY resource ORDER BY resource"
    #expect(try bench.ask(removed) == ["c2", "f2", "g4", "p1"])
    names.withLock { $0 = ["s1", "s2"] }
    _ = try await bench.sync(resources)
    #expect(try bench.ask(removed).isEmpty)
  }

  /// Parents with a text key, or with a text and a number, and a detail for each.
  private static func detailed(_ isComposite: Bool) -> [Resource] {
    let parent = Resource(
      name: "p", path: "/p", key: at("id"), otherKeys: isComposite ? [at("n")] : [], table: "p",
      pages: .init(.one), columns: [.init("id", at: at("id")), .init("n", at: at("n"), .integer)])
    let detail = Resource(
      name: "d", path: "/p/{p.id}", table: "d", pages: .init(.record),
      columns: [.init("h", at: at("h"), .integer)], each: Each(of: "p"))
    return [detail, parent]
  }

  @Test("51: a child of one parent is shown at an earlier time too")
  func shownThen() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(3))
    forest.update {
      $0.documents[3]?.revision = 2
      $0.documents[3]?.items[1]?.revision = 7
    }
    _ = try await bench.sync(Forest.all, after: 60)
    let reader = try CacheReader(path: bench.path)
    let now = try reader.show("item", key: ["1"], of: ["3"])
    let then = try reader.show("item", key: ["1"], of: ["3"], at: bench.shelf.now + 30)
    #expect(now.record?.contains(#""rev":7"#) == true && then.record?.contains(#""rev":1"#) == true)
  }

  @Test("51: the ancestors of a detail's parent are named by --of, or in front of its key")
  func detailOfChild() async throws {
    let (bench, _) = try Forest.bench(Forest.documents(3))
    let detail = Resource(
      name: "face", path: "/docs/{doc.id}/items/{item.id}", table: "faces", pages: .init(.record),
      columns: [.init("rev", at: at("rev"), .integer)], each: Each(of: "item"))
    #expect(try await bench.sync(Forest.all + [detail]).error == nil)
    let reader = try CacheReader(path: bench.path)
    #expect(try reader.show("face", key: ["1"], of: ["3"]).record != nil)
    #expect(try reader.show("face", key: ["3", "1"]).record != nil)
    #expect(throws: Failure.self) { try reader.show("face", key: ["1"]) }
  }

  @Test("51: a child of a removed parent is shown at an earlier time, and its removal is known")
  func shownBelowRemoved() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(9))
    _ = try await bench.sync(Forest.all)
    forest.update { $0.documents[3] = nil }
    #expect(try await bench.sync(Forest.all, after: 60).error == nil)
    let reader = try CacheReader(path: bench.path)
    for (resource, key, parents) in [("item", "1", ["3"]), ("part", "a", ["3", "1"]), ("detail", "3", [])] {
      let then = try reader.show(resource, key: [key], of: parents, at: bench.shelf.now + 30)
      #expect(then.record != nil, "\(resource)")
      let now = try reader.show(resource, key: [key], of: parents)
      #expect(now.record == nil && now.removal != nil, "\(resource)")
    }
    #expect(throws: Failure.self) { try reader.show("item", key: ["1"], of: ["77"]) }
  }

  @Test("51: the message lists the parents by their keys, and a removed parent makes no key ambiguous")
  func ambiguous() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(3))
    let reader = try CacheReader(path: bench.path)
    let several = #expect(throws: Failure.self) { try reader.show("part", key: ["a"]) }
    #expect(several?.cause.contains(" of item have a part") == true, "\(several?.cause ?? "")")
    forest.update {
      $0.documents[2] = nil
      $0.documents[3] = nil
    }
    #expect(try await bench.sync(Forest.all, allowRemoval: true, after: 60).error == nil)
    #expect(try reader.show("item", key: ["1"]).record?.contains(#""doc_id":1"#) == true)
  }

  @Test("The changes of children name their parents, also after these were removed")
  func parentsOfChanges() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(9))
    forest.update {
      $0.documents[2]?.revision = 2
      $0.documents[2]?.items[7] = .init(parts: ["x": 1])
      $0.documents[3] = nil
    }
    _ = try await bench.sync(Forest.all, after: 60)
    var follower = FeedFollower(path: bench.path, from: FeedPosition(), resource: nil)
    let changes = try follower.next()
    let parents = follower.parents(of: changes)
    let lines = changes.map { "\($0.kind) \($0.resource) \(parents[$0.id] ?? "")" }
    #expect(lines.contains("added item doc 2") && lines.contains("added part item 2 7"), "\(lines)")
    #expect(lines.contains("removed item doc 3") && lines.contains("removed part item 3 1"), "\(lines)")
    #expect(lines.contains("removed detail doc 3") && lines.contains("removed doc "), "\(lines)")
  }

  @Test("5: the first pull of a child without a storable record reports its first rejected records")
  func unstorable() async throws {
    let (bench, _) = try Forest.bench(Forest.documents(3))
    var item = Forest.item()
    item.columns[1] = .init("rev", at: at("rev"), .text)
    let record = try await bench.sync([Forest.document(), item])
    #expect(record.exit == 65 && record.trouble?.kind == .unstorable)
    #expect(record.trouble?.rejected?.count == 6)
    #expect(record.error?.contains("the first reason, of record 1: rev is ") == true, "\(record.error ?? "")")
  }

  @Test("A rejected record of a child has its parent in rejects, for explain, and in a sync that stores nothing")
  func parentsOfRejects() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var item = Forest.item()
    item.columns[1] = .init("rev", at: at("rev"), .text)
    let failed = try await bench.sync([Forest.document(), item])
    #expect(failed.trouble?.kind == .unstorable && failed.trouble?.rejected?.first?.parent == "doc 1")
    #expect(failed.trouble?.concerned.contains { $0.parent == "doc 2" } == true)
    forest.update { $0.bodies["/docs/2/items"] = #"{"count":2,"list":[{"id":1,"rev":1},{"id":2,"rev":"x"}]}"# }
    #expect(try await bench.sync([Forest.document(), Forest.item()], after: 60).rejected == 1)
    let reader = try CacheReader(path: bench.path)
    let rejects = try reader.rejects()
    #expect(rejects.records.map(\.parent) == ["doc 2"])
    #expect(rejects.json.contains(#""resource":"item","parent_id":2,"page":1,"position":1,"#))
    #expect(try reader.rejected().map(\.parent) == ["doc 2"])
  }

  @Test("The records of the file are a parent like any other")
  func inline() async throws {
    let (bench, forest) = try Forest.bench(Forest.documents(3))
    var document = Forest.document(removal: .twice)
    document.inline = [1, 3].map { id in .object([.init("id", .integer(id)), .init("rev", .integer(1))]) }
    document.pages = .init(.one)
    (document.path, document.records) = ("", JSONPointer())
    let resources = [document, Forest.item()]
    #expect(try await bench.sync(resources).error == nil)
    #expect(bench.asked().sorted() == ["/docs/1/items", "/docs/3/items"])
    #expect(try bench.ask("SELECT proof FROM resources WHERE name = 'doc'") == ["count"])
    let again = try await bench.sync(resources, after: 60)
    #expect(again.outcome == .unchanged && again.notModified == 0)
    #expect(bench.asked().sorted().isEmpty && forest.documents.count == 3)
  }

  @Test("51: pending shows children by the keys of their ancestors, and what a removed parent takes with it")
  func pending() async throws {
    var documents = Forest.documents(9)
    documents[7]?.items = [:]
    let resources = [Forest.part, Forest.item(.init(of: "doc", changed: ["rev"])), Forest.detail, Forest.document()]
    let (bench, forest) = try await Forest.synced(documents, with: resources)
    forest.update {
      $0.documents[2]?.revision = 2
      $0.documents[2]?.items[3] = .init(parts: ["x": 1])
      $0.documents[2]?.items[1]?.revision = 5
      $0.documents[2]?.items[1]?.parts["a"] = 50
      $0.documents[2]?.items[2] = nil
      $0.documents[3] = nil
      $0.documents[10] = .init(items: [1: .init(parts: ["n": 10])])
    }
    let record = try await bench.sync(resources, allowRemoval: true, isDryRun: true, after: 60)
    #expect(record.outcome == .tried, "\(record.error ?? "")")
    #expect(
      try bench.pending() == [
        "added detail 10 of [10]", "added doc 10 of -", "added item 1 of [10]", "added item 3 of [2]",
        #"added part "n" of [10,1]"#, #"added part "x" of [2,3]"#,
        "changed detail 2 of [2]", "changed doc 2 of -", "changed item 1 of [2]", #"changed part "a" of [2,1]"#,
        "removed detail 3 of [3] with doc", "removed doc 3 of -", "removed item 1 of [3] with doc",
        "removed item 2 of [2]", "removed item 2 of [3] with doc", #"removed part "a" of [3,1] with item"#,
      ])
    let changes = try CacheReader(path: bench.path).pending()
    var json = ""
    try changes.writeJSON { json += $0 }
    #expect(json.contains(#"{"key":2,"of":[3],"with":"doc","doc_id":3,"id":2,"#))
    #expect(json.contains(#"{"key":"n","of":[10,1],"item_id":"#))
    func sum(_ count: (PendingResource) -> Int) -> Int { changes.pull.resources.map(count).reduce(0, +) }
    #expect([sum(\.added), sum(\.changed), sum(\.removed)] == [record.added, record.changed, record.removed])
    #expect(try await bench.sync(resources, allowRemoval: true, after: 120).outcome == .published)
    #expect(try Forest.lines(in: bench) == forest.lines)
    #expect(try CacheReader(path: bench.path).pending().pull.sync == nil)
  }

  @Test("51: pending shows lists that a fresh dry run pulled although their parents are unchanged")
  func pendingFresh() async throws {
    let (bench, forest) = try await Forest.synced(Forest.documents(3))
    forest.update { state in for id in 1...2 { state.documents[id]?.items[1]?.revision = 2 } }
    let record = try await bench.sync(Forest.all, isFresh: true, isDryRun: true, after: 60)
    #expect(record.outcome == .tried && record.changed == 2)
    #expect(try bench.pending() == ["changed item 1 of [1]", "changed item 1 of [2]"])
    // A dry run that is not fresh requests none of these lists.
    #expect(try await bench.sync(Forest.all, isDryRun: true, after: 120).changed == 0)
    #expect(try bench.pending() == [])
  }
}
