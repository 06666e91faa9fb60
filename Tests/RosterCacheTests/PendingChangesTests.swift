import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import Testing

@testable import RosterCache

/// `rosterctl pending`, beside a writer or without one.
struct PendingChangesTests {
  let folder = Folder()

  @Test("pending shows additions, changed fields and removals exactly as the next sync writes them in changes")
  func fields() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    let pages = [
      [person(1), person(2, mark: "!")],
      [person(3, episodes: ["e/2", "e/1"]), person(4, more: #","origin2":{"b":1.10,"a":[1]},"x.y":"\u001b[31m""#)],
      [person(5), person(9)],
    ]
    let shown = try await tried(cache, pages: pages)
    #expect(shown.pull.sync == 2 && shown.pull.isWhole)
    #expect(
      try shown.lines() == [
        "character changed 2 name status", "character changed 3 episodes",
        "character changed 4 extra.origin2.b extra.origin2.a extra.x.y", "character added 9", "character removed 6",
      ])
    #expect(try await cache.mirror(pages.map { $0 as [String]? }).outcome == .published)
    #expect(try shown.documents() == folder.changes(after: 0))
    #expect(try folder.pending().pull == PendingPull())
    await cache.close()
    #expect(try folder.pending().json() == #"{"sync":null,"resources":[]}"# + "\n")
  }

  @Test("The JSON of pending has key and record, and for a change both records and the names of the changed fields")
  func json() async throws {
    let cache = try await folder.define([issue])
    let first = #"{"node":"a\"b","title":"T","labels":[{"name":"n","color":"c"}],"flags":[true]}"#
    _ = try await cache.mirror(issue, pages: [[first, #"{"node":"gone"}"#]])
    let second = #"{"node":"a\"b","title":"T","score":1.5,"labels":[],"flags":[true],"more":{"k":null}}"#
    let shown = try await tried(cache, resource: issue, pages: [[second, #"{"node":"new","locked":false}"#]])
    let json = try JSONValue(json: shown.json().utf8)
    #expect(json["sync"] == .integer(2))
    guard case .list(let resources)? = json["resources"], let resource = resources.first, resources.count == 1 else {
      Issue.record("\(json)")
      return
    }
    #expect(resource["resource"] == .text("issue"))
    guard case .list(let added)? = resource["added"], case .list(let changed)? = resource["changed"] else { return }
    #expect(added.count == 1 && changed.count == 1 && resource["removed"] == .list([]))
    // Missed for the first time.
    #expect(resource["absent"] == .list([.text("gone")]))
    #expect(added[0]["key"] == .text("new") && added[0]["node"] == .text("new"))
    #expect(added[0]["locked"] == .boolean(false) && added[0]["labels"] == .list([]))
    #expect(changed[0]["key"] == .text("a\"b") && changed[0]["node"] == .text("a\"b"))
    #expect(changed[0]["fields"] == .list([.text("score"), .text("extra.more.k"), .text("labels")]))
    #expect(changed[0]["before"]?["labels"] != .list([]) && changed[0]["after"]?["labels"] == .list([]))
    // Missed once only: it stays.
    #expect(try await cache.mirror(issue, pages: [[second, #"{"node":"new","locked":false}"#]]).removed == 0)
    await cache.close()
  }

  @Test("A line end or a NUL in the name of an extra member stays in the name of the changed field")
  func lineEnds() async throws {
    let cache = try await folder.mirrored(paired(people(1...2)))
    let shown = try await tried(cache, pages: [[person(1, more: #","x\ny":1,"z\u0000":2"#), person(2)]])
    #expect(try shown.changedFields() == [.list([.text("extra.x\ny"), .text("extra.z\0")])])
    await cache.close()
  }

  @Test("Texts and names in extra that only Unicode normalization makes equal are different fields")
  func normalization() async throws {
    let cache = try await folder.mirrored([[person(1, more: ",\"e\":\"\u{E9}\",\"\u{E9}\":1")]])
    let shown = try await tried(cache, pages: [[person(1, more: ",\"e\":\"e\u{301}\",\"e\u{301}\":1")]])
    let fields = ["extra.e", "extra.\u{E9}", "extra.e\u{301}"]
    #expect(try shown.changedFields() == [.list(fields.map(JSONValue.text))])
    await cache.close()
  }

  @Test("The differences of a record with 80,000 extra members are found in time", .timeLimit(.minutes(1)))
  func manyMembers() async throws {
    let cache = try await folder.mirrored(paired(people(1...1)))
    let count = 80_000
    let members = (1...count).map { #","m\#($0)":\#($0)"# }.joined()
    let shown = try await tried(cache, pages: [[person(1, more: members)]])
    #expect(try shown.lines().map { $0.split(separator: " ").count } == [count + 3])
    await cache.close()
  }

  @Test("The member key of pending is the key; a column or list with the name key is left out")
  func listNamedKey() async throws {
    let item = Resource(
      name: "item", path: "/items", records: at("results"),
      columns: [.init("id", at: at("id"), .integer), .init("of", at: at("of"))],
      lists: [
        .init(table: "item_key", at: at("keys"), columns: [.init("value", at: JSONPointer())])
      ])
    let cache = try await folder.define([item])
    let shown = try await tried(cache, resource: item, pages: [[#"{"id":1,"of":"x","keys":["a"]}"#]])
    #expect(try shown.json().contains(#""added":[{"key":1,"id":1,"of":"x","extra":null}]"#))
    await cache.close()
  }

  @Test("12, 51: pending shows the removals that the guard held back, except records found by key")
  func guarded() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    var record = try await cache.begin(at: noon)
    try await Pull(cache: cache).pages(.character, pages: [nil, [person(9)]])
    _ = try await cache.compare()
    try await cache.concludePull(of: record.id, isGuarded: true, [:])
    let gone = ["3", "4", "5", "6"].map { "character removed \($0)" }
    #expect(try folder.pending().lines() == ["character added 9"] + gone)
    await cache.close()
    #expect(try folder.pending().lines() == ["character added 9"] + gone)
    let next = try await folder.define()
    record = try await next.begin(at: noon)
    // It begins with what was kept, and has asked for nothing yet.
    #expect(try folder.pending().lines() == ["character added 9"] + gone)
    try await Pull(cache: next).pages(.character, pages: [nil, [person(9)]])
    _ = try await next.compare()
    try await Pull(cache: next).answers(.character, records: [person(4, mark: "!"), #"{"id":5,"name":1}"#])
    let decisions = ["character": RemovalDecision(.asDefined)]
    let report = try await next.tried(record, decisions: decisions, at: noon, history: ninetyDays)
    #expect([report.added, report.changed, report.removed, report.rejected] == [1, 1, 2, 1])
    #expect(report.outcome == .tried && report.records == 5 && report.pages == 2)
    let shown = ["character added 9", "character changed 4 name status", "character removed 3", "character removed 6"]
    #expect(try folder.pending().lines() == shown)
    // No record is removed if not all of them could be requested.
    record = try await next.begin(at: noon)
    try await Pull(cache: next).pages(.character, pages: [nil, [person(9)]])
    _ = try await next.compare()
    let kept = try await next.tried(record, decisions: ["character": .init(.keepsAll)], at: noon, history: ninetyDays)
    #expect(kept.removed == 0)
    #expect(try folder.pending().lines() == ["character added 9"])
    await next.close()
  }

  @Test("A pull that is not whole shows nothing as removed, also if it continues one that was whole")
  func broken() async throws {
    let cache = try await folder.mirrored(paired(people(1...6)))
    _ = try await tried(cache, pages: [[person(1, mark: "!")]])
    _ = try await cache.begin(at: noon)
    try await cache.append([Pull(cache: cache).received(.character, 1, [person(2, mark: "?"), person(7)])])
    let shown = try folder.pending()
    // No process holds the cache's lock here, as after a kill.
    #expect(shown.pull.sync == 3 && !shown.pull.isWhole && shown.pull.report?.outcome == .interrupted)
    #expect(try shown.lines() == ["character changed 2 name status", "character added 7"])
    // Killed, and started again.
    let copy = try folder.copy()
    await cache.close()
    let next = try await copy.define()
    #expect(try copy.pending().lines() == shown.lines())
    #expect(try copy.pending().pull.report?.outcome == .interrupted)
    await next.close()
  }

  @Test("A torn commit is left out with all later ones, as its writer would do")
  func torn() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    _ = try await tried(cache, pages: [[person(1, mark: "!"), person(2)], [person(3, mark: "!")]])
    await cache.close()
    let (name, bytes) = ("roster.db.next-wal", try folder.bytes("roster.db.next-wal"))
    for cut in [1, 200, bytes.count / 2, bytes.count - 513] {
      try folder.write(bytes.dropLast(cut), to: name)
      let shown = try folder.pending()
      #expect(!shown.pull.isWhole && shown.pull.resources.allSatisfy { $0.removed == 0 }, "\(cut)")
    }
    try folder.write(bytes.prefix(40), to: name)
    #expect(try folder.pending().pull == PendingPull())
  }

  @Test("Without a cache, with a foreign or an unreadable file, pending is one sentence and 73")
  func bad() async throws {
    #expect(throws: Failure.self) { try folder.pending() }
    await (try folder.define()).close()
    try #require(unlink(folder.pulled) == 0)
    #expect(try folder.pending().pull == PendingPull())
    try folder.write(Array("somebody's\n".utf8), to: "roster.db.next")
    let foreign = #expect(throws: Failure.self) { try folder.pending() }
    #expect(foreign?.kind == .cannotWrite && foreign?.subject == folder.pulled)
    try #require(unlink(folder.pulled) == 0 && mkdir(folder.pulled, 0o700) == 0)
    let file = #expect(throws: Failure.self) { try folder.pending() }
    #expect(file?.kind == .cannotWrite && file?.subject == folder.pulled)
  }

  @Test("Pages that were pulled for another snapshot or by another definition are no longer pending")
  func stale() async throws {
    let cache = try await folder.mirrored(paired(people(1...4)))
    _ = try await tried(cache, pages: [[person(1, mark: "!")]])
    let pulled = try folder.staged()
    _ = try await cache.mirror([[person(1, mark: "?")]])
    await cache.close()
    try folder.write(staged: pulled)
    #expect(try folder.pending().pull == PendingPull())
    // Another definition at the next start drops it.
    let again = try await folder.define()
    _ = try await tried(again, pages: [[person(1, mark: "!")]])
    await again.close()
    #expect(try folder.pending().pull.sync != nil)
    var other = Resource.character
    other.columns.removeLast()
    await (try folder.define([other])).close()
    #expect(try folder.pending().pull == PendingPull())
  }

  @Test("A new resource is all added, a removed one is all removed")
  func resources() async throws {
    await (try folder.mirrored(paired(people(1...2)))).close()
    let next = try await folder.define([issue])
    let shown = try await tried(next, resource: issue, pages: [[#"{"node":"a"}"#, #"{"node":"b"}"#]])
    #expect(try shown.lines() == ["issue added a", "issue added b", "character removed 1", "character removed 2"])
    let report = try await next.mirror(issue, pages: [[#"{"node":"a"}"#, #"{"node":"b"}"#]])
    #expect(report.outcome == .published && report.added == 2)
    #expect(try folder.ask("SELECT name FROM resources") == ["issue"])
    await next.close()
  }

  @Test("40: pages that drifted are dropped for good, though pages of another resource stay")
  func drifted() async throws {
    let cache = try await folder.define([.character, issue])
    _ = try await cache.begin(at: noon)
    let pull = Pull(cache: cache)
    try await pull.pages(.character, pages: [people(1...2)])
    try await pull.pages(issue, pages: [[#"{"node":"a"}"#]])
    try await cache.discard("character")
    #expect(try folder.pending().lines() == ["issue added a"])
    await cache.close()
    let next = try await folder.define([.character, issue])
    _ = try await next.begin(at: noon)
    #expect(try await next.known("character", addresses: [address(1)]).isEmpty)
    #expect(try await next.known("issue", addresses: [address(1)]).count == 1)
    await next.close()
  }

  @Test("40, 51: a kept page that is transferred again unchanged is not transferred a third time")
  func cameAgain() async throws {
    let cache = try await folder.define()
    _ = try await cache.begin(at: noon)
    var pull = Pull(cache: cache)
    pull.validators = false
    try await pull.pages(.character, pages: paired(people(1...6)))
    _ = try await cache.compare()
    try await cache.concludePull(of: 1, isGuarded: true, [:])
    let record = try await cache.begin(at: noon)
    let later = noon.addingTimeInterval(600)
    let known = try await cache.known("character", addresses: [address(1), address(2)])
    #expect(known.values.allSatisfy { $0.state == .guarded })
    for number in 1...2 {
      try await cache.confirm(
        "character",
        pages: [
          // The first page arrived again, unchanged.
          ConfirmedPage(
            number: number, page: try #require(known[address(number)]), receivedAt: number == 1 ? later : nil)
        ])
    }
    _ = try await cache.compare()
    try await cache.concludePull(of: record.id, isGuarded: false, [:])
    await cache.close()
    let next = try await folder.define()
    _ = try await next.begin(at: noon)
    let kept = try await next.known("character", addresses: (1...3).map(address))
    #expect(kept[address(1)]?.state == .kept && kept[address(1)]?.receivedAt == later)
    #expect(kept[address(2)]?.state == .guarded && kept[address(3)]?.state == .guarded)
    await next.close()
  }

  @Test("A reader beside a writer that publishes and pulls all the time sees one pull or none, never a mixture")
  func beside() async throws {
    let cache = try await folder.mirrored(paired(people(1...40)))
    let folder = folder
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for round in 0..<60 {
          let mark = "\(round)"
          let pages = paired(people(1...40, mark: mark))
          _ = try await self.tried(cache, pages: pages)
          if round % 3 == 2 { _ = try await cache.mirror(pages.map { $0 as [String]? }) }
        }
      }
      group.addTask {
        var looks = 0
        while looks < 200 {
          looks += 1
          let shown = try folder.pending()
          guard shown.pull.isWhole else { continue }
          var marks: Set<String> = []
          try shown.each { record, _ in
            let name = try JSONValue(json: (record.after ?? "null").utf8)["name"]?.text ?? ""
            marks.insert(String(name.split(separator: " ").last?.dropFirst(record.key.utf8.count) ?? ""))
          }
          #expect(marks.count == 1 && shown.pull.differences == 40, "\(marks)")
        }
      }
      try await group.waitForAll()
    }
    await cache.close()
    try self.folder.expectSound()
  }

  // MARK: Syncs that publish nothing

  @discardableResult
  private func tried(_ cache: Cache, pages: [[String]?]) async throws -> PendingChanges {
    try await tried(cache, resource: .character, pages: pages)
  }

  private func tried(_ cache: Cache, resource: Resource, pages: [[String]?]) async throws -> PendingChanges {
    let record = try await cache.pull(resource, pages: pages)
    let report = try await cache.tried(record, decisions: [:], at: noon, history: ninetyDays)
    #expect(report.outcome == .tried && report.finishedAt != nil)
    let shown = try folder.pending()
    #expect(report.added + report.changed + report.removed == shown.pull.differences || resource != .character)
    return shown
  }
}

extension Folder {
  fileprivate func pending() throws -> PendingChanges { try CacheReader(path: cache).pending() }

  /// Kind, before and after.
  fileprivate func changes(after id: Int) throws -> [String] {
    try ask("SELECT kind || ifnull(before, '-') || ifnull(after, '-') FROM changes WHERE id > \(id) ORDER BY id")
  }
}

extension PendingChanges {
  fileprivate func lines() throws -> [String] {
    var lines: [String] = []
    try each { record, resource in
      let key = record.key.hasPrefix("\"") ? String(record.key.dropFirst().dropLast()) : record.key
      lines.append(([resource.name, record.kind.rawValue, key] + record.fields).joined(separator: " "))
    }
    return lines
  }

  fileprivate func documents() throws -> [String] {
    var all: [String] = []
    try each { record, _ in
      all.append(record.kind.rawValue + (record.before ?? "-") + (record.after ?? "-"))
    }
    return all
  }

  /// The member `fields` of each changed record of the first resource in the JSON.
  fileprivate func changedFields() throws -> [JSONValue?] {
    let json = try JSONValue(json: json().utf8)
    guard case .list(let resources)? = json["resources"], case .list(let changed)? = resources.first?["changed"] else {
      return []
    }
    return changed.map { $0["fields"] }
  }

  fileprivate func json() throws -> String {
    var text = ""
    try writeJSON { text += $0 }
    return text
  }
}
