import RosterCore
import RosterTestSupport
import Testing

@testable import RosterCache

/// The stored part of the documents in `changes`.
struct TextDifferenceTests {
  let folder = Folder()

  /// SQLite's characters are Unicode scalars: one, two, three and four bytes; some share bytes with others.
  private static let letters = ["a", "b", "é", "è", "\u{301}", "€", "₭", "😀", "😁", "\"", "{"]

  @Test("7: SQLite makes the text again from the other text and the part that differs")
  func again() throws {
    let database = try Database(path: ":memory:", access: .writer)
    defer { database.close() }
    let query = "SELECT substr(?1, 1, ?2) || ?3 || substr(?1, ?4)"
    var generator = SeededDice(seed: 7)
    func text(_ count: Int) -> String {
      (0..<count).map { _ in Self.letters[Int.random(in: 0..<Self.letters.count, using: &generator)] }.joined()
    }
    for _ in 0..<3000 {
      let (start, end) = (text(.random(in: 0...20, using: &generator)), text(.random(in: 0...20, using: &generator)))
      let old = start + text(.random(in: 0...3, using: &generator)) + end
      let new = start + text(.random(in: 0...3, using: &generator)) + end
      let difference = TextDifference(of: Array(old.utf8), from: Array(new.utf8))
      let part = String(decoding: Array(old.utf8)[difference.part], as: UTF8.self)
      #expect(part.unicodeScalars.count <= 3, "\(old) \(new)")
      let made = try database.first(
        query, .text(new), .integer(Int64(difference.head)), .text(part), .integer(Int64(difference.rest))
      ) { $0.text(0) }
      #expect(made.map { Array($0.utf8) } == Array(old.utf8), "\(old) \(new)")
    }
  }

  @Test("7: programs may insert, change and delete rows of changes, as in a table")
  func written() async throws {
    let cache = try await folder.define([.character])
    for mark in ["a", "b"] { _ = try await cache.mirror([[person(1, mark: mark)]]) }
    await cache.close()
    #expect(try folder.ask("SELECT length(before) BETWEEN 1 AND 40 FROM cache_changes WHERE head > 0") == ["1"])
    let names = "coalesce(before ->> 'name', '-') || ' ' || coalesce(after ->> 'name', '-')"
    let rows = "SELECT id || ' ' || \(names) || ' ' || at FROM changes ORDER BY id"
    try run("UPDATE changes SET at = '2000'")
    #expect(try folder.ask(rows) == ["1 Name 1a Name 1b 2000"])
    let document = #"{"name":"c"}"#
    try run(
      """
      INSERT INTO changes(sync_id, resource, record_id, kind, at, before)
      VALUES (3, 'character', 2, 'removed', '2001', '\(document)')
      """)
    #expect(try folder.ask(rows) == ["1 Name 1a Name 1b 2000", "2 c - 2001"])
    try run("DELETE FROM changes WHERE id = 1")
    #expect(try folder.ask(rows) == ["2 c - 2001"])
  }

  private func run(_ statement: String) throws {
    let database = try Database(path: folder.cache, access: .writer)
    defer { database.close() }
    try database.execute(statement)
  }
}
