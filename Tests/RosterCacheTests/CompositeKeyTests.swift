import FoundationEssentials
import RosterCore
import RosterDecode
import Testing

@testable import RosterCache

/// Two places are the key, and a third field.
private let score = Resource(
  name: "score", path: "/scores", records: at("results"), key: at("game"),
  otherKeys: [at("player")], table: "scores", search: ["note"], removal: .ask,
  pages: .init(.link),
  columns: [
    .init("player", at: at("player"), .integer),
    .init("note", at: at("note")), .init("game", at: at("game")),
  ],
  lists: [.init(table: "score_tags", at: at("tags"), columns: [.init("tag", at: JSONPointer())])])

private func row(_ game: String, player: Int, note: String = "n") -> String {
  #"{"game":"\#(game)","player":\#(player),"note":"\#(note)","tags":["a"]}"#
}

@Suite struct CompositeKeyTests {
  private let folder = Folder()

  private func mirror(
    _ pages: [[String]?], resource: Resource = score, answers: [String] = [], isChecked: Bool = true
  ) async throws -> SyncRecord {
    let cache = try await folder.define([resource])
    let record = try await cache.mirror(resource, pages: pages, answers: answers)
    await cache.close()
    if isChecked { try folder.expectSound([resource]) }
    return record
  }

  @Test("52: the table has record_id as primary key, and UNIQUE over the key's columns in the order of key")
  func table() async throws {
    _ = try await mirror([[row("go", player: 1)]])
    let sql = try folder.ask("SELECT sql FROM sqlite_schema WHERE name = 'scores'").joined()
    #expect(sql.contains("record_id INTEGER PRIMARY KEY") && sql.contains(#"UNIQUE ("game", "player")"#))
    #expect(sql.contains(#""player" INTEGER NOT NULL"#) && sql.contains(#""game" TEXT NOT NULL"#))
    #expect(try folder.ask("SELECT key FROM resources") == [#"["game","player"]"#])
    #expect(try folder.ask("SELECT definition ->> '$.key' FROM resources") == [#"["/game","/player"]"#])
  }

  @Test("6, 11: records are added, changed, moved between pages and removed by all parts of their key")
  func lifecycle() async throws {
    let first = try await mirror([
      [row("go", player: 1), row("go", player: 2)], [row("chess", player: 1), row("é\\\"\\n", player: -5)],
    ])
    #expect((first.added, first.rejected) == (4, 0))
    #expect(try await mirror([nil, nil]).outcome == .unchanged)
    let next = try await mirror([
      [row("go", player: 2, note: "x"), row("chess", player: 1)], [row("é\\\"\\n", player: -5), row("go", player: 3)],
    ])
    #expect((next.added, next.changed, next.removed) == (1, 1, 1))
    #expect(try folder.ask("SELECT game || player FROM scores WHERE note = 'x'") == ["go2"])
    // A missing record that by_key still has stays.
    let asked = try await mirror(
      [[row("go", player: 2, note: "x")], nil], answers: [row("chess", player: 1, note: "y")])
    #expect((asked.changed, asked.removed) == (1, 0))
    #expect(try await mirror([[row("go", player: 2, note: "x")], nil]).removed == 1)
    #expect(try folder.ask("SELECT key FROM removed ORDER BY at, key") == [#"["go",1]"#, #"["chess",1]"#].sorted())
  }

  @Test("6: a record with a null, absent, empty or mistyped part is rejected; an integer part may be any integer")
  func parts() async throws {
    let odd = [
      #"{"game":null,"player":1}"#, #"{"player":1}"#, #"{"game":"","player":1}"#, #"{"game":"a","player":"x"}"#,
      #"{"game":"a","player":1.5}"#, #"{"game":"a"}"#,
    ]
    let good = [
      row("a", player: 0), row("a", player: Int.min), row("a", player: Int.max), #"{"game":"a","player":"1"}"#,
    ]
    let record = try await mirror([odd + good])
    #expect((record.added, record.rejected) == (4, 6))
    let reasons = try folder.ask("SELECT DISTINCT reason FROM rejects ORDER BY 1")
    #expect(
      reasons == [
        "game, a part of the key, is not a string that is not empty",
        "player, a part of the key, is not an integer of 64 bits",
      ])
  }

  @Test("51: the decoder writes a key as SQLite's json_array does")
  func encoded() throws {
    let texts = (1..<0x80).map { String(UnicodeScalar(UInt8($0))) } + ["é\u{2028}👩‍👩‍👧", "a\u{0}b", "\u{7F}", "[1,2]"]
    let database = try Database(path: ":memory:", access: .writer)
    var decoder = RecordDecoder(try RecordPlan(score))
    for text in texts {
      var json = JSONWriter()
      json.list { json in
        json.object { json in
          json.member("game", text)
          json.member("player", -7)
        }
      }
      let body = Array(#"{"results":\#(json.text)}"#.utf8)
      let scan = try decoder.scan(page: body)
      var found = ""
      scan.keys.bytes.forEachKey(isText: true) { found = $0.name }
      let expected = try database.first("SELECT json_array(?1, ?2)", .text(text), .integer(-7)) { $0.text(0) }
      #expect(found == expected)
    }
  }

  @Test("7, 51: show, changes and the JSON of both have the key as a list")
  func shown() async throws {
    _ = try await mirror([[row("go", player: 1), row("go", player: 2)]])
    _ = try await mirror([[row("go", player: 1, note: "x"), row("chess", player: 2)]])
    let reader = try CacheReader(path: folder.cache)
    let found = try reader.show("score", key: ["go", "1"])
    #expect(
      found.record?.contains(#""note":"x""#) == true && found.telling.map(\.name).prefix(2) == ["game", "player"])
    #expect(found.changes.map(\.key) == [#"["go",1]"#])
    #expect(found.json.contains(#""record_id":1,"key":["go",1],"kind":"changed""#))
    let gone = try reader.show("score", key: ["go", "2"])
    #expect(gone.record == nil && gone.removal?.key == #"["go",2]"#)
    #expect(try reader.show("score", key: ["go", "7"]).changes.isEmpty)
    for odd in [["go"], ["go", "1", "2"], ["go", "x"], []] {
      let failure = #expect(throws: Failure.self) { _ = try reader.show("score", key: odd) }
      #expect(failure?.kind == .usage, "\(odd)")
    }
    guard case .page(let page) = try reader.feed(FeedPosition(), limit: 10) else {
      Issue.record("no page")
      return
    }
    #expect(page.changes.map(\.key).sorted { $0 ?? "" < $1 ?? "" } == [#"["chess",2]"#, #"["go",1]"#, #"["go",2]"#])
  }

  @Test("7: a plain key is a number or a text in changes, and a bare value in the view removed")
  func plain() async throws {
    let cache = try await folder.define([issue])
    for page in [[#"{"node":"b\"1"}"#, #"{"node":"c"}"#], [#"{"node":"c"}"#], [#"{"node":"c"}"#]] {
      _ = try await cache.mirror(issue, pages: [page])
    }
    await cache.close()
    #expect(try CacheReader(path: folder.cache).show("issue", key: #"b"1"#).removal?.key == #""b\"1""#)
    #expect(try folder.ask("SELECT key FROM removed") == [#"b"1"#])
    #expect(try folder.ask("SELECT key FROM resources") == ["node"])
  }

  @Test("7: a text key with NUL is whole in changes and in the view removed")
  func nul() async throws {
    let cache = try await folder.define([issue])
    let (gone, kept) = (#"{"node":"a\u0000\"\\u0000é\u0001"}"#, #"{"node":"a\u0000"}"#)
    for page in [[gone, kept], [kept], [kept]] { _ = try await cache.mirror(issue, pages: [page]) }
    await cache.close()
    let key = "a\0\"\\u0000é\u{1}"
    #expect(try CacheReader(path: folder.cache).show("issue", key: key).removal?.key == #""a\u0000\"\\u0000é\u0001""#)
    #expect(try folder.ask("SELECT key FROM removed").map { Array($0.utf8) } == [Array(key.utf8)])
  }

  @Test("7, 52: a composite key with NUL is found, changed and removed")
  func compositeNUL() async throws {
    let (odd, other) = ("a\\u0000b", "a\\u0000c")
    _ = try await mirror([[row(odd, player: 1), row(other, player: 1)]])
    let next = try await mirror([[row(odd, player: 1, note: "x"), row(other, player: 1)]])
    #expect((next.added, next.changed, next.removed) == (0, 1, 0))
    #expect(try await mirror([[row(other, player: 1)]]).removed == 1)
    #expect(try folder.ask("SELECT key FROM removed") == [#"["a\u0000b",1]"#])
    let found = try CacheReader(path: folder.cache).show("score", key: ["a\0b", "1"])
    #expect(found.changes.map(\.kind) == [.changed, .removed])
  }

  @Test(
    "7, 52: a composite key with NUL may have the characters that mask it in SQL",
    arguments: ["\\ufdd0", "\\ufdd00", "\\ufdd01", "\\\\\\ufdd02\\ufdd1", "\\\\\\\\u0000\\ufdd0\\ufdd0\\u0000"])
  func masked(text: String) async throws {
    let odd = row("\(text)\\u0000b", player: 1)
    _ = try await mirror([[odd, row("go", player: 1)]])
    let next = try await mirror([[row("\(text)\\u0000b", player: 1, note: "x"), row("go", player: 1)]])
    #expect((next.added, next.changed, next.removed) == (0, 1, 0))
    #expect(try await mirror([[row("go", player: 1)]]).removed == 1)
    #expect(try folder.ask("SELECT count(*) FROM removed") == ["1"])
  }

  @Test("51: pending and a dry run write the key as a list")
  func pending() async throws {
    _ = try await mirror([[row("go", player: 1), row("go", player: 2)]])
    let cache = try await folder.define([score])
    let record = try await cache.pull(score, pages: [[row("go", player: 1, note: "x"), row("go", player: 3)]])
    _ = try await cache.tried(record, decisions: ["score": RemovalDecision()], at: noon, history: ninetyDays)
    var text = ""
    try CacheReader(path: folder.cache).pending().writeJSON { text += $0 }
    await cache.close()
    for part in [
      #""added":[{"key":["go",3],"#, #""changed":[{"key":["go",1],"fields":["note"]"#, #""removed":[{"key":["go",2],"#,
    ] {
      #expect(text.contains(part), "\(text)")
    }
  }

  @Test("56: another key is another definition, which the next sync publishes")
  func redefined() async throws {
    var plain = score
    plain.otherKeys = []
    _ = try await mirror([[row("go", player: 1), row("chess", player: 2)]], resource: plain)
    await (try folder.define([score])).close()
    #expect(try folder.ask("SELECT game FROM scores ORDER BY 1") == ["chess", "go"])
    _ = try await mirror([[row("go", player: 1), row("chess", player: 2), row("go", player: 2)]])
    #expect(try folder.ask("SELECT game || player FROM scores ORDER BY 1") == ["chess2", "go1", "go2"])
  }

  @Test("49: no statement of a resource with a composite key scans a table")
  func plans() async throws {
    let plans = QueryPlans()
    try await plans.inspect {
      _ = try await mirror(
        [[row("go", player: 1), row("go", player: 2)], [row("a", player: 1), #"{"game":"b","player":null}"#]],
        isChecked: false)
      _ = try await mirror(
        [[row("go", player: 2, note: "x"), row("b", player: 1)], [row("a", player: 3)]], answers: [row("a", player: 1)],
        isChecked: false)
      _ = try await mirror([[row("go", player: 2, note: "x")], [row("a", player: 3)]], isChecked: false)
      _ = try CacheReader(path: folder.cache).show("score", key: ["go", "2"])
    }
    let faults = plans.all.flatMap(\.faults)
    #expect(faults.isEmpty, "\(faults.joined(separator: "\n\n"))")
  }
}
