import FoundationEssentials
import RosterCore
import RosterDecode
import Synchronization
import Testing

@testable import RosterCache

struct SnapshotPublicationTests {
  let folder = Folder()

  @Test("The built-in definition makes the tables of docs/CACHE.md")
  func tables() async throws {
    let cache = try await folder.define()
    func columns(_ table: String) throws -> String {
      try folder.ask("SELECT name FROM pragma_table_info('\(table)')").joined(separator: " ")
    }
    #expect(
      try columns("characters")
        == "id name status species type gender origin_name origin_url location_name location_url image url created extra "
        + "first_sync changed_sync")
    #expect(try columns("character_episodes") == "character_id position url")
    #expect(try columns("characters_fts") == "name species type origin_name location_name")
    #expect(
      try columns("resources")
        == "name table key records pages proof definition validators distrusted_since parent")
    #expect(
      try columns("syncs")
        == "id started_at finished_at outcome pages records added changed removed rejected skipped requests not_modified "
        + "resumed retries refreshes bytes exit error lists lists_failed verified_at")
    #expect(
      try columns("sync_resources")
        == "sync_id resource pages records added changed removed rejected skipped whole requests missed "
        + "lists lists_failed")
    #expect(try columns("changes") == "id sync_id resource record_id kind at before after")
    #expect(try columns("rejects") == "sync_id resource parent_id page position key reason document")
    #expect(try columns("removed") == "resource record_id at document key")
    #expect(try columns("cache_info") == "schema_version upstream snapshot published_at verified_at records pages feed")
    #expect(try folder.ask("PRAGMA user_version") == ["\(Schema.version)"])
    #expect(try folder.ask("PRAGMA application_id") == ["\(0x524F_5354)"])
    #expect(
      try folder.ask("SELECT name || ' ' || \"table\" || ' ' || key FROM resources") == ["character characters id"])
    #expect(try folder.ask("SELECT definition ->> '$.columns.origin_name.at' FROM resources") == ["/origin/name"])
    #expect(
      try folder.ask("SELECT \"notnull\" FROM pragma_table_info('characters') WHERE name IN ('name', 'extra')") == [
        "1", "0",
      ])
    await cache.close()
  }

  @Test("20: distrusted_since is the start of the sync that publishes the distrust")
  func distrustedSince() async throws {
    let cache = try await folder.define()
    let start = noon.addingTimeInterval(60)
    for isLying in [false, true] {
      let record = try await cache.begin(at: start)
      if isLying { try await cache.distrust("character") }
      try await Pull(cache: cache).pages(.character, pages: paired(people(1...3, mark: isLying ? "!" : "")))
      _ = try await cache.compare()
      _ = try await cache.publish(
        record, decisions: ["character": RemovalDecision(.asDefined, proof: .count)], at: start.addingTimeInterval(9),
        history: ninetyDays)
      #expect(try folder.ask("SELECT coalesce(distrusted_since, '') FROM resources") == [isLying ? start.rfc3339 : ""])
    }
    await cache.close()
  }

  @Test("7, 9: only changed rows are written; changes have before and after, and the first snapshot has none")
  func changes() async throws {
    let cache = try await folder.define()
    var first = people(1...3)
    first[1] = person(2, more: #","rank":7,"home":{"moons":1.50e2}"#)
    let published = try await cache.mirror(paired(first))
    #expect(published.outcome == .published && published.added == 3 && published.records == 3 && published.pages == 2)
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    var second = [person(1, episodes: ["e/2"]), person(2)]
    second.append(person(4))
    let later = noon.addingTimeInterval(60)
    let report = try await cache.mirror([second[0..<2].map { $0 }, [second[2]]], at: later)
    #expect([report.added, report.changed, report.removed, report.records] == [1, 2, 1, 3])
    #expect(
      try folder.ask("SELECT record_id || kind || resource FROM changes ORDER BY id")
        == ["1changedcharacter", "2changedcharacter", "4addedcharacter", "3removedcharacter"])
    #expect(try folder.ask("SELECT DISTINCT at FROM changes") == [later.rfc3339])
    #expect(try folder.ask("SELECT after ->> '$.episodes' FROM changes WHERE record_id = 1") == [#"["e/2"]"#])
    #expect(
      try folder.ask("SELECT before FROM changes WHERE record_id = 2") == [
        #"{"id":2,"name":"Name 2","status":"Alive","species":"Human","type":"","gender":"unknown","#
          + #""origin_name":"Earth (C-137)","origin_url":"o","location_name":"Citadel","location_url":"l","#
          + #""image":"i/2","url":"u/2","created":"2017-11-04T18:48:46.250Z","#
          + #""extra":{"home":{"moons":1.50e2},"rank":7},"episodes":["e/1","e/2"]}"#
      ])
    #expect(try folder.ask("SELECT json_type(after, '$.extra') FROM changes WHERE record_id = 2") == ["null"])
    #expect(
      try folder.ask(
        "SELECT count(*) FROM changes WHERE (before IS NULL) = (kind = 'added') AND (after IS NULL) = (kind = 'removed')"
      ) == ["4"])
    #expect(
      try folder.ask("SELECT resource || record_id || (document ->> '$.name') FROM removed") == ["character3Name 3"])
    #expect(
      try folder.ask("SELECT rowid FROM characters_fts WHERE characters_fts MATCH 'name' ORDER BY 1") == [
        "1", "2", "4",
      ])
    #expect(
      try folder.ask(
        "SELECT sync_id || ':' || pages || ':' || records || ':' || added || changed || removed FROM sync_resources")
        == ["1:2:3:300", "2:2:3:121"])
    try await folder.expectSound(closing: cache)
    // A record that returns is no longer removed.
    let again = try await folder.mirrored([nil, [person(4), person(3)]])
    #expect(try folder.ask("SELECT count(*) FROM removed") == ["0"])
    try await folder.expectSound(closing: again)
  }

  @Test(
    "9: the index of words has the words of all records, whether few or all of them changed", arguments: [4, 78])
  func words(changed: Int) async throws {
    let cache = try await folder.mirrored(paired(people(1...80)))
    let report = try await cache.mirror(
      paired(people(1...changed, mark: "x") + people(stride(from: changed + 1, through: 78, by: 1)) + people(81...84)))
    #expect([report.added, report.changed, report.removed] == [4, changed, 2])
    func found(_ word: String) throws -> [String] {
      try folder.ask("SELECT rowid FROM characters_fts WHERE characters_fts MATCH '\(word)'")
    }
    #expect(try found("name").count == 82)
    #expect(try found("4x") == ["4"] && found("4").isEmpty && found("80").isEmpty && found("84") == ["84"])
    #expect(try found("78") == (changed == 78 ? [] : ["78"]))
    try await folder.expectSound(closing: cache)
  }

  @Test(
    "9: `changes` has each changed record with both documents, in the order of the list", arguments: [63, 64, 130])
  func manyChanges(first: Int) async throws {
    let cache = try await folder.mirrored([people(1...200)])
    var changed = people(1...first, mark: "x") + people(201...201) + people((first + 1)...199, mark: "x")
    // A large record does not overtake others.
    changed[9] = person(10, mark: "x", more: #","pad":"\#(String(repeating: "p", count: 300_000))""#)
    let report = try await cache.mirror([changed])
    #expect([report.added, report.changed, report.removed] == [1, 199, 1])
    #expect(
      try folder.ask("SELECT record_id || kind FROM changes ORDER BY id")
        == (1...first).map { "\($0)changed" } + ["201added"] + ((first + 1)...199).map { "\($0)changed" }
        + ["200removed"])
    #expect(
      try folder.ask(
        """
        SELECT count(*) FROM changes WHERE kind = 'changed' AND before ->> '$.name' = 'Name ' || record_id
          AND after ->> '$.name' = 'Name ' || record_id || 'x' AND before ->> '$.id' = record_id
        """) == ["199"])
    try await folder.expectSound(closing: cache)
  }

  @Test("9: whichever columns of a record have changed, its row and its change have the new values")
  func anyColumns() async throws {
    let values = ["Alive", "Human", "unknown", "Citadel", #""l""#, "moons"]
    let records = (1...63).map { person(Int64($0), more: #","home":{"moons":1.50e2}"#) }
    let changed = zip(1..., records).map { id, record in
      values.indices.filter { id & 1 << $0 != 0 }.reduce(record) {
        $0.replacing(values[$1], with: values[$1].replacing("l", with: "L").replacing("n", with: "N"))
      }
    }
    let (cache, other) = (try await folder.define(), Folder())
    _ = try await cache.mirror([records])
    #expect(try await cache.mirror([changed]).changed == 63)
    let fresh = try await other.define()
    _ = try await fresh.mirror([changed])
    let rows = """
      SELECT json_array(id, name, status, species, type, gender, origin_name, location_name, location_url, extra)
      FROM characters
      """
    #expect(try folder.ask(rows) == other.ask(rows))
    #expect(
      try folder.ask(
        """
        SELECT count(*) FROM changes c JOIN characters r ON r.id = c.record_id WHERE changed_sync = 2
          AND after ->> 'species' = species AND after ->> 'location_url' = location_url AND after -> 'extra' = extra
          AND (before ->> 'species' = 'Human' AND before ->> 'extra' LIKE '%moons%')
        """) == ["63"])
    await cache.close()
    try await folder.expectSound(closing: fresh)
  }

  /// The numbers of the pages in the log, from 1 (sqlite.org/fileformat2.html#walformat).
  private func loggedPages() throws -> Set<Int> {
    let log = [UInt8](try folder.bytes("roster.db-wal"))
    return Set(
      stride(from: 32, to: log.count, by: 24 + Schema.pageBytes).map { frame in
        log[frame..<frame + 4].reduce(0) { $0 << 8 | Int($1) }
      })
  }

  private func emptyLog() throws {
    let database = try Database(path: folder.cache, access: .writer)
    try database.keepLog()
    // Before its first look at the file a connection does not know of the log.
    try database.run("SELECT * FROM cache_info")
    #expect(try database.checkpoint(.truncate))
  }

  @Test(
    "9: a sync that finds nothing new writes only its rows, with confirmed pages and with transferred ones",
    arguments: [true, false])
  func unchanged(confirmed: Bool) async throws {
    let cache = try await folder.define()
    var pages: [[String]?] = paired(people(1...200))
    pages[3] = (pages[3] ?? []) + ["{}", #"{"id":3,"name":1}"#]
    _ = try await cache.mirror(pages)
    _ = try await cache.mirror(pages.map { _ in nil })
    try emptyLog()
    let record = try await cache.begin(at: noon)
    if confirmed {
      try await Pull(cache: cache).pages(.character, pages: pages.map { _ in nil })
    } else {
      for (index, page) in pages.enumerated() {
        try await cache.append([Pull(cache: cache).received(.character, index + 1, page ?? [])])
      }
    }
    let found = try #require(try await cache.compare().first)
    #expect(found.distinct == 200 && found.rejected == 2 && found.rejectedUnknown == 1 && found.missing == 0)
    #expect(found.repeats == 0 && found.pages == 100)
    let report = try await cache.publish(record, decisions: ["character": RemovalDecision(proof: .count)])
    #expect(report.outcome == .unchanged && report.rejected == 2 && report.records == 200)
    let written = try loggedPages()
    let allowed = try folder.ask(
      "SELECT rootpage FROM sqlite_schema WHERE tbl_name IN ('syncs', 'sync_resources') AND rootpage > 0")
    #expect(written.isSubset(of: Set(allowed.compactMap { Int($0) } + [1])) && !written.isEmpty)
    try await folder.expectSound(closing: cache)
  }

  @Test("5: equal rejects keep their row, others are replaced, and the last good version stays")
  func rejects() async throws {
    let cache = try await folder.mirrored([people(1...2)])
    let bad = #"{"id":2,"name":1}"#
    let report = try await cache.mirror([[person(1), bad, "{}"]], removal: .keepsAll)
    #expect(report.rejected == 2 && report.removed == 0 && report.outcome == .published)
    #expect(try folder.ask("SELECT name FROM characters WHERE id = 2") == ["Name 2"])
    #expect(try folder.ask("SELECT document FROM rejects WHERE position = 1") == [bad])
    _ = try await cache.mirror([[person(1), bad, "7"]], removal: .keepsAll)
    #expect(
      try folder.ask("SELECT sync_id || resource || page || position FROM rejects ORDER BY position")
        == ["2character11", "3character12"])
    try await folder.expectSound(closing: cache)
    // It is seen again on a received page, and the rejected record counts as listed.
    let next = try await folder.define()
    #expect(try await next.mirror([people(1...2)]).outcome == .published)
    #expect(try folder.ask("SELECT count(*) FROM rejects") == ["0"])
    try await folder.expectSound(closing: next)
  }

  @Test("1, 56: several resources are one snapshot in one transaction; another set has another feed")
  func several() async throws {
    let places = [
      #"{"id":1,"name":"Earth","type":"Planet","dimension":"C-137","residents":["c/1"],"url":"l/1","created":"x"}"#
    ]
    let pilots = [
      #"{"id":1,"name":"Pilot","air_date":"2013","episode":"S01E01","characters":["c/1","c/2"],"url":"e/1","created":"x"}"#
    ]
    let all: [Resource] = [.character, .location, .episode]
    let cache = try await folder.define(all)
    let record = try await cache.begin(at: noon)
    let pull = Pull(cache: cache)
    try await pull.pages(.character, pages: paired(people(1...3)))
    try await pull.pages(.location, pages: [places])
    try await pull.pages(.episode, pages: [pilots])
    #expect(try await cache.compare().map(\.distinct) == [3, 1, 1])
    let report = try await cache.publish(record)
    #expect([report.added, report.records, report.pages] == [5, 5, 4])
    #expect(
      try folder.ask("SELECT resource || records FROM sync_resources ORDER BY 1") == [
        "character3", "episode1", "location1",
      ])
    #expect(try folder.ask("SELECT records FROM resources ORDER BY name") == ["3", "1", "1"])
    #expect(try folder.ask("SELECT url FROM location_residents") == ["c/1"])
    #expect(try folder.ask("SELECT count(*) FROM episodes_fts WHERE episodes_fts MATCH 's01e01'") == ["1"])
    let feed = try folder.ask("SELECT feed FROM cache_info")
    try await folder.expectSound(all, closing: cache)

    let fewer: [Resource] = [.episode, issue]
    let next = try await folder.define(fewer)
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["3"])
    let second = try await next.begin(at: noon)
    try await Pull(cache: next).pages(.episode, pages: [nil])
    try await Pull(cache: next).pages(issue, pages: [[#"{"node":"a","title":"Bug"}"#]])
    _ = try await next.compare()
    let published = try await next.publish(second)
    #expect(published.outcome == .published && published.added == 1 && published.records == 2)
    #expect(try folder.ask("SELECT name FROM resources ORDER BY name") == ["episode", "issue"])
    #expect(
      try folder.ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'character%' OR name LIKE 'location%'") == [
        "0"
      ])
    #expect(try folder.ask("SELECT count(*) FROM changes") == ["0"])
    #expect(try folder.ask("SELECT feed FROM cache_info") != feed)
    try await folder.expectSound(fewer, closing: next)
  }

  @Test("8: text keys have record ids that no other key gets; every type of column is in changes as JSON")
  func textKeys() async throws {
    let cache = try await folder.define([issue])
    func record(_ node: String, rest: String = "") -> String { #"{"node":"\#(node)","title":"T \#(node)"\#(rest)}"# }
    let rich = record(
      "b",
      rest:
        #","number":7,"score":1.5,"locked":true,"closed_at":null,"reactions":{"+1": 2},"labels":[{"name":"x","color":"red","id":9}],"flags":[true,false]"#
    )
    _ = try await cache.mirror(issue, pages: [[record("a"), rich]])
    #expect(try folder.ask("SELECT record_id || node FROM issues ORDER BY 1") == ["1a", "2b"])
    #expect(
      try folder.ask("SELECT issue_id || position || name || color || extra FROM issue_labels") == [#"20xred{"id":9}"#])
    _ = try await cache.mirror(issue, pages: [[record("a")]])
    #expect(try await cache.mirror(issue, pages: [nil]).removed == 1)
    #expect(
      try folder.ask("SELECT before FROM changes") == [
        #"{"node":"b","title":"T b","number":7,"score":1.5,"locked":true,"closed_at":null,"reactions":{"+1":2},"#
          + #""extra":null,"labels":[{"name":"x","color":"red","extra":{"id":9}}],"flags":[true,false]}"#
      ])
    #expect(try await cache.mirror(issue, pages: [[record("a"), record("c")]]).added == 1)
    #expect(try folder.ask("SELECT record_id || node FROM issues ORDER BY 1") == ["1a", "3c"])
    try await folder.expectSound([issue], closing: cache)
  }

  @Test("41: a publish that is interrupted changes nothing, and the next one has its pages")
  func interrupted() async throws {
    let running = Mutex<Cache?>(nil)
    let cache = try await folder.define { running.withLock { $0 }?.interruptPublish() }
    let record = try await cache.pull(pages: paired(people(1...4_000)))
    running.withLock { $0 = cache }
    await #expect(throws: CancellationError.self) { _ = try await cache.publish(record) }
    running.withLock { $0 = nil }
    #expect(try folder.ask("SELECT count(*) FROM characters") == ["0"])
    _ = try await cache.begin(at: noon)
    #expect(try await cache.known("character", addresses: [address(1), address(2_000)]).count == 2)
    await cache.close()
  }

  @Test(
    "7, 9: the snapshot of another upstream is a new one, even with equal rows; its pages are requested whole")
  func otherUpstream() async throws {
    await (try folder.mirrored([people(1...2)])).close()
    let other = try await folder.define(upstream: "http://other")
    _ = try await other.begin(at: noon)
    #expect(try await other.known("character", addresses: [address(1)]).isEmpty)
    let report = try await other.mirror([people(1...2)])
    #expect(report.outcome == .published && report.added + report.changed + report.removed == 0)
    #expect(try folder.ask("SELECT upstream FROM cache_info") == ["http://other"])
    try await folder.expectSound(closing: other)
  }

  @Test("4: any text that upstream sends is stored unchanged, and is no change in the next sync")
  func texts() async throws {
    let cache = try await folder.define()
    let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
    let odd = person(
      1, mark: #"é\u0301 \"'\\ \u0000 👽\n"#, episodes: ["", #"\"\\\u0001"#, "👽"], more: #","deep":\#(deep)"#)
    #expect(try await cache.mirror([[odd]]).added == 1)
    #expect(try folder.ask("SELECT reason FROM rejects") == [])
    #expect(try await cache.mirror([[odd + " "]]).outcome == .unchanged)
    #expect(try await cache.mirror([[person(1)]]).changed == 1)
    #expect(try folder.ask("SELECT before ->> '$.episodes[1]' FROM changes") == ["\"\\\u{1}"])
    try await folder.expectSound(closing: cache)
  }

  @Test("9: rows that expired are not left in the file, and temporary files lie beside the cache")
  func settings() async throws {
    let cache = try await folder.define()
    #expect(try await cache.perform("ask") { try $0.first("PRAGMA secure_delete") { $0.int(0) } } == 2)
    #expect(
      try await cache.perform("ask") { try $0.first("PRAGMA temp_store_directory") { $0.text(0) } }?.isEmpty == false)
    await cache.close()
  }
}
