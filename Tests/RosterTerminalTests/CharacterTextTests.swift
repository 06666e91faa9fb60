import RosterModel
import Testing

@testable import RosterTerminal

@Suite struct CharacterTextTests {
  private func diff(_ before: String, _ after: String) -> CharacterDiff {
    CharacterDiff(before: JSONValue(shown: before), after: JSONValue(shown: after))
  }

  private func json(_ status: String, extra: String = "null", episodes: [String] = ["e/1", "e/2", "e/4"]) -> String {
    let list = episodes.map { "\"\($0)\"" }.joined(separator: ",")
    return """
      {"id":7,"name":"Ünïcödé","status":"\(status)","species":"Human","type":"","gender":"Male","origin_name":"Earth",\
      "origin_url":"o/1","location_name":"","location_url":"","image":"i","url":"u","created":"c","extra":\(extra),\
      "first_sync":1,"changed_sync":3,"episodes":[\(list)]}
      """
  }

  @Test("rosterctl character: its fields, then its history, the latest change first")
  func text() {
    let (one, two) = (
      #"{"rating":1.10,"origin":{"dimension":"C-137"}}"#, #"{"rating":1.100,"origin":{"dimension":"x"}}"#
    )
    let changes = [
      CharacterText.Change(
        sync: 2, kind: "changed", at: "2026-01-01T00:00:00.000Z", before: json("Alive"),
        after: json("Dead", extra: one, episodes: ["e/1", "e/4", "e/3"])),
      CharacterText.Change(
        sync: 3, kind: "changed", at: "2026-01-02T00:00:00.000Z", before: json("Dead", extra: one),
        after: json("Dead", extra: two)),
    ]
    #expect(
      CharacterText(json("Dead", extra: two), changes: changes, width: 60).text == """
        Ünïcödé (7)
             status  Dead
            species  Human
             gender  Male
             origin  Earth  o/1
              image  i
                url  u
            created  c
           episodes  3: e/1, 2, 4
              extra  rating: 1.100
                     origin.dimension: "x"
         first seen  sync 1
            changed  sync 3

        History, the latest change first
        2026-01-02T00:00:00.000Z  changed by sync 3
          extra.rating: 1.10 → 1.100
          extra.origin.dimension: "C-137" → "x"
        2026-01-01T00:00:00.000Z  changed by sync 2
          status: Alive → Dead
          extra.rating: (none) → 1.10
          extra.origin.dimension: (none) → "C-137"
          + episode e/3
          − episode e/2

        """)
  }

  @Test("Who came, went and came back; who never changed")
  func kinds() {
    let changes = [
      CharacterText.Change(sync: 2, kind: "removed", at: "t2", before: json("Dead"), after: nil),
      CharacterText.Change(sync: 3, kind: "added", at: "t3", before: nil, after: json("Dead")),
    ]
    #expect(
      CharacterText(json("Dead"), changes: changes, width: nil).text
        .hasSuffix("first\nt3  added by sync 3\nt2  removed by sync 2\n"))
    #expect(CharacterText(json("Dead"), changes: [], width: nil).text.hasSuffix("\nNo change is recorded.\n"))
  }

  @Test("On a narrow terminal a change has two lines, neither of them too long", arguments: [38, 42, 43, 80])
  func narrow(width: Int) {
    let change = CharacterText.Change(
      sync: 8, kind: "changed", at: "2026-01-01T00:00:00.000Z", before: json("Alive"), after: json("Dead"))
    let text = CharacterText(json("Dead"), changes: [change], width: width, colour: false).text
    let gap = width < 43 ? "\n  " : "  "
    #expect(text.contains("\n2026-01-01T00:00:00.000Z\(gap)changed by sync 8\n"))
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= width })
  }

  @Test("No text of upstream steers the terminal")
  func hostile() {
    let text = CharacterText(json("\\u001b[2J"), changes: [], width: 60).text
    #expect(!text.contains("\u{1b}") && text.contains("�[2J"))
  }

  @Test("Episodes that only change places, and one that is there twice, are told apart")
  func episodes() {
    let before = json("Dead", episodes: ["a", "b", "b"])
    #expect(diff(before, json("Dead", episodes: ["b", "a", "b"])).isReordered)
    let fewer = diff(before, json("Dead", episodes: ["a", "b"]))
    #expect(fewer.removedEpisodes == ["b"] && fewer.addedEpisodes.isEmpty && !fewer.isReordered)
    #expect(diff(before, before) == diff("{}", "{}"))
  }

  @Test("P10: fields without a column are shown with their numbers as upstream wrote them, however deep they nest")
  func extra() {
    let deep = String(repeating: "[", count: 127) + "1.10" + String(repeating: "]", count: 127)
    let text = CharacterText(
      json(
        "Alive", extra: #"{ "a\"b" : 1.10 , "c":{"d":123456789012345678901234567890,"e":[1,{"f":"},"}]},"g":\#(deep)}"#),
      changes: [], width: nil
    ).text
    for line in [#"a"b: 1.10"#, "c.d: 123456789012345678901234567890", #"c.e: [1,{"f":"},"}]"#, "g: \(deep)"] {
      #expect(text.contains(line), "\(line)")
    }
  }
}

@Suite struct CharacterTableTests {
  @Test("rosterctl characters: a line a character, of the terminal's width")
  func table() {
    var one = RosterModel.Character(id: 1, name: "Rick\nSanchez", status: "Alive", species: "Human")
    one.location.name = "Citadel of Ricks"
    #expect(
      CharacterTable([one]).text(width: 60) == """
        ID  NAME          STATUS  SPECIES  LOCATION
         1  Rick�Sanchez  Alive   Human    Citadel of Ricks

        """)
    #expect(CharacterTable([one]).text(width: 40).split(separator: "\n").allSatisfy { $0.count <= 40 })
  }
}
