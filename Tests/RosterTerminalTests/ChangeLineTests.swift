import RosterCore
import Testing

@testable import RosterTerminal

@Suite struct ChangeLineTests {
  private let telling = Resource.character.columns.filter { ["id", "name"].contains($0.name) }
  private let rick = #"{"id":1,"name":"Rick Sanchez","status":"Alive","extra":null,"episodes":["e/1","e/2"]}"#
  private let dead =
    #"{"id":1,"name":"Rick Sanchez","status":"Dead","extra":{"a":1.10},"episodes":["e/2","e/3","e/4"]}"#

  private func line(
    _ kind: ChangeKind, before: String?, after: String?, width: Int? = nil, telling: [Resource.Column]? = nil,
    colour: Bool = false
  ) -> String {
    let change = RecordChange(
      id: 17, sync: 1, resource: "character", record: 1, kind: kind, at: "2026-11-21T05:19:03.614Z", before: before,
      after: after)
    return ChangeLine(change, telling: telling ?? self.telling).text(width: width, colour: colour)
  }

  @Test("A change is a line: its time, its record, what happened, and the fields before and after")
  func lines() {
    #expect(
      line(.changed, before: rick, after: dead)
        == "17  2026-11-21 05:19:03  changed  character 1 Rick Sanchez  "
        + "status: Alive → Dead, extra.a: (none) → 1.10, episodes +2 −1")
    #expect(line(.added, before: nil, after: rick) == "17  2026-11-21 05:19:03  added    character 1 Rick Sanchez")
    #expect(line(.removed, before: rick, after: nil, telling: []) == "17  2026-11-21 05:19:03  removed  character 1")
    #expect(
      line(.changed, before: #"{"id":1,"l":[1,2]}"#, after: #"{"id":1,"l":[2,1]}"#)
        == "17  2026-11-21 05:19:03  changed  character 1  l: in another order")
  }

  @Test("The line of a child names its parent")
  func child() {
    let change = RecordChange(
      id: 17, sync: 1, resource: "note", record: 1, kind: .added, at: "2026-11-21T05:19:03.614Z", before: nil,
      after: rick)
    #expect(
      ChangeLine(change, parent: "item 2", telling: telling).text(width: nil)
        == "17  2026-11-21 05:19:03  added    note 1 of item 2 Rick Sanchez")
  }

  @Test(
    "51: the line of a composite key has its values, one after another",
    arguments: [
      (#"["go",-7]"#, ["game", "level", "title"], "go -7 Rook"), (#"["go","-7"]"#, ["game", "level"], "go -7"),
      (nil, ["game", "title"], "go Rook"), (#"["x","y"]"#, ["title"], "Rook"), ("7", ["level", "title"], "-7 Rook"),
    ] as [(String?, [String], String)])
  func composite(key: String?, telling: [String], words: String) {
    var change = RecordChange(
      id: 17, sync: 1, resource: "score", record: 1, kind: .removed, at: "2026-11-21T05:19:03.614Z",
      before: #"{"game":"go","level":-7,"title":"Rook"}"#, after: nil)
    change.key = key
    let columns = telling.map { Resource.Column($0, at: JSONPointer(segments: [$0])) }
    #expect(
      ChangeLine(change, telling: columns).text(width: nil) == "17  2026-11-21 05:19:03  removed  score \(words)")
  }

  @Test("A change's line fits the terminal, colour aside, and does not control it")
  func width() {
    for width in 20...120 { #expect(line(.changed, before: rick, after: dead, width: width).cells <= width) }
    for width in [40, 80, 120] {
      let plain = line(.changed, before: rick, after: dead, width: width)
      let coloured = line(.changed, before: rick, after: dead, width: width, colour: true)
      #expect(coloured.replacing(#/\u{1b}\[\d*m/#, with: "") == plain && coloured != plain)
    }
    #expect(
      line(.changed, before: rick, after: dead, width: 80)
        == "17  11-21 05:19:03  changed  character 1 Rick Sanchez  status: Alive → Dead, ex…")
    let hostile = rick.replacing("Alive", with: #"\u001b[2J\nAlive"#)
    #expect(line(.changed, before: hostile, after: dead).unicodeScalars.allSatisfy { $0.value >= 0x20 })
  }
}
