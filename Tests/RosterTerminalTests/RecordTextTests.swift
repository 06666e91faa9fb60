import RosterCore
import Testing

@testable import RosterTerminal

@Suite struct RecordTextTests {
  private func json(_ status: String, extra: String = "null", episodes: [String] = ["e/1", "e/2", "e/4"]) -> String {
    let list = episodes.map { "\"\($0)\"" }.joined(separator: ",")
    return """
      {"id":7,"name":"Ünïcödé","status":"\(status)","species":"Human","type":"","gender":"Male","origin_name":"Earth",\
      "origin_url":"o/1","location_name":"","location_url":"","image":"i","url":"u","created":"c","extra":\(extra),\
      "first_sync":1,"changed_sync":3,"episodes":[\(list)]}
      """
  }

  private func change(_ sync: Int64, _ kind: ChangeKind, at: String, before: String?, after: String?) -> RecordChange {
    RecordChange(
      id: sync, sync: sync, resource: "character", record: 7, kind: kind, at: at, before: before, after: after)
  }

  private func text(
    _ record: String, changes: [RecordChange] = [], width: Int? = nil, of resource: Resource = .character,
    telling: Int = 2
  ) -> String {
    RecordText(
      record, of: resource.name, columns: resource.columns, telling: Array(resource.columns.prefix(telling)),
      changes: changes, width: width
    ).text
  }

  @Test("rosterctl show prints columns, lists and fields without a column, then the history, latest change first")
  func history() {
    let (one, two) = (
      #"{"rating":1.10,"origin":{"dimension":"C-137"}}"#, #"{"rating":1.100,"origin":{"dimension":"x"}}"#
    )
    let changes = [
      change(
        2, .changed, at: "2026-01-01T00:00:00.000Z", before: json("Alive"),
        after: json("Dead", extra: one, episodes: ["e/1", "e/4", "e/3"])),
      change(
        3, .changed, at: "2026-01-02T00:00:00.000Z", before: json("Dead", extra: one),
        after: json("Dead", extra: two)),
    ]
    #expect(
      text(json("Dead", extra: two), changes: changes, width: 60) == """
        character 7: Ünïcödé
                status  Dead
               species  Human
                gender  Male
           origin_name  Earth
            origin_url  o/1
                 image  i
                   url  u
               created  c
                 extra  rating: 1.100
                        origin.dimension: "x"
            first seen  sync 1
               changed  sync 3
              episodes  3: e/1, 2, 4

        History, the latest change first
        2026-01-02T00:00:00.000Z  changed by sync 3
          extra.rating: 1.10 → 1.100
          extra.origin.dimension: "C-137" → "x"
        2026-01-01T00:00:00.000Z  changed by sync 2
          status: Alive → Dead
          extra.rating: (none) → 1.10
          extra.origin.dimension: (none) → "C-137"
          + episodes: e/3
          − episodes: e/2

        """)
  }

  @Test("rosterctl show prints nothing for null, JSON unchanged, texts with their lines, and elements by members")
  func anyRecord() {
    func column(_ name: String, type: Resource.ColumnType) -> Resource.Column {
      Resource.Column(name, at: JSONPointer(segments: [name]), type)
    }
    let ticket = Resource(
      name: "ticket", path: "/",
      columns: [
        column("id", type: .text), column("votes", type: .json), column("open", type: .boolean),
        column("body", type: .text),
        column("closed", type: .integer),
      ])
    let record = #"""
      {"id":"a/1","votes":[1.10,{"x":null}],"open":true,"body":"one\r\n\ntwo","closed":null,"extra":null,\#
      "labels":[{"name":"bug","color":"f00","extra":{"n":1}},{"name":"ui","color":"","extra":null}],"flags":[]}
      """#
    #expect(
      text(record, of: ticket) == """
        ticket a/1
              votes  [1.10,{"x":null}]
               open  true
               body  one

                     two
             labels  name: bug, color: f00, extra: {"n":1}
                     name: ui
              flags  none

        No change is recorded.

        """)
  }

  @Test("rosterctl show prints added, removed and returned values, and not unchanged ones")
  func kinds() {
    let changes = [
      change(2, .removed, at: "t2", before: json("Dead"), after: nil),
      change(3, .added, at: "t3", before: nil, after: json("Dead")),
    ]
    #expect(text(json("Dead"), changes: changes).hasSuffix("first\nt3  added by sync 3\nt2  removed by sync 2\n"))
    #expect(text(json("Dead")).hasSuffix("\nNo change is recorded.\n"))
  }

  @Test("On a narrow terminal a change has two lines, neither of them too long", arguments: [38, 42, 43, 80])
  func narrow(width: Int) {
    let change = self.change(8, .changed, at: "2026-01-01T00:00:00.000Z", before: json("Alive"), after: json("Dead"))
    let text = text(json("Dead"), changes: [change], width: width)
    let gap = width < 43 ? "\n  " : "  "
    #expect(text.contains("\n2026-01-01T00:00:00.000Z\(gap)changed by sync 8\n"))
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= width })
  }

  @Test("No text of upstream controls the terminal")
  func hostile() {
    let record = json("\\u001b[2J", extra: #"{"\u001b[2J":"\u001b[2J"}"#, episodes: ["\\u001b[2J"])
    let change = self.change(8, .changed, at: "t", before: json("Dead"), after: record)
    let text = text(record, changes: [change], width: 60)
    #expect(!text.contains("\u{1b}") && text.contains("�[2J"))
  }

  @Test("Elements that only exchange places, and duplicate elements, are distinguished")
  func elements() {
    func lists(_ before: [String], after: [String]) -> [RecordDiff.List] {
      RecordDiff(before: json("Dead", episodes: before), after: json("Dead", episodes: after)).lists
    }
    #expect(
      lists(["a", "b", "b"], after: ["b", "a", "b"]) == [
        RecordDiff.List(name: "episodes", added: [], removed: [], isReordered: true)
      ])
    #expect(
      lists(["a", "b", "b"], after: ["a", "b"]) == [
        RecordDiff.List(name: "episodes", added: [], removed: ["b"], isReordered: false)
      ])
    #expect(lists(["a"], after: ["a"]).isEmpty)
  }

  @Test("Texts and names that only Unicode normalization makes equal are different")
  func normalization() {
    func record(_ letter: String) -> String {
      #"{"name":"\#(letter)","extra":{"\#(letter)":1},"tags":["\#(letter)"]}"#
    }
    let diff = RecordDiff(before: record("\u{E9}"), after: record("e\u{301}"))
    let names = ["name", "extra.\u{E9}", "extra.e\u{301}"]
    #expect(diff.fields.map { Array($0.name.utf8) } == names.map { Array($0.utf8) })
    #expect(diff.lists.map(\.added.count) == [1] && diff.lists.map(\.removed.count) == [1])
    let same = RecordDiff(before: record("\u{E9}"), after: record("\u{E9}"))
    #expect(same.fields.isEmpty && same.lists.isEmpty)
  }

  @Test("JSON is split without reading its numbers")
  func members() {
    let object = #"{ "a\"b" : 1.10 , "c":[1,{"d":"},"}],"e" : "x,y" ,"f":123456789012345678901234567890}"#
    let members = JSONMembers.of(object)
    #expect(members.map(\.name) == ["a\"b", "c", "e", "f"])
    #expect(members.map(\.value) == ["1.10", #"[1,{"d":"},"}]"#, #""x,y""#, "123456789012345678901234567890"])
    #expect(JSONMembers.of("{ }").isEmpty && JSONMembers.of("[1]").isEmpty && JSONMembers.of("").isEmpty)
    #expect(JSONMembers.list(#"[ "a" , 2,[3]]"#) == [#""a""#, "2", "[3]"])
    #expect(JSONMembers.text(#""\u00e9\n""#) == "é\n" && JSONMembers.text("1") == nil)
  }
}

@Suite struct RecordTableTests {
  @Test("rosterctl list RESOURCE prints one line for each record, of the terminal's width, and cuts long texts")
  func table() {
    let columns = ["id", "name", "status", "location_name"].map { name in
      Resource.Column(name, at: JSONPointer(segments: [name]), name == "id" ? .integer : .text)
    }
    let record = #"{"id":1,"name":"Rick\nSanchez","status":null,"location_name":"Citadel of Ricks"}"#
    #expect(
      RecordTable(columns, besides: columns, records: [record]).text(width: 60) == """
        ID  NAME          STATUS  LOCATION_NAME
         1  Rick Sanchez          Citadel of Ricks

        """)
    let narrow = RecordTable(columns, besides: columns, records: [record]).text(width: 30)
    #expect(narrow.split(separator: "\n").allSatisfy { $0.count <= 30 })
    let long = #"{"id":1,"name":"\#(String(repeating: "x", count: 500))"}"#
    let table = RecordTable(columns, besides: columns, records: [long])
    #expect(table.text(width: 200).contains(" 1  \(String(repeating: "x", count: 79))…"))
    #expect(table.tabSeparated == "id\tname\tstatus\tlocation_name\n1\t\(String(repeating: "x", count: 500))\t\t\n")
  }

  @Test("51: list shows as many columns besides the texts as fit; tabs and line ends in a text are spaces")
  func besides() {
    let columns = ["id", "title", "votes", "score", "open"].map { name in
      let type: Resource.ColumnType = ["title": .text, "score": .real, "open": .boolean][name] ?? .integer
      return Resource.Column(name, at: JSONPointer(segments: [name]), type)
    }
    let record = #"{"id":7,"title":"A\tb\nc","votes":123456789012345,"score":1.50,"open":true}"#
    let table = RecordTable(Array(columns.prefix(2)), besides: columns, records: [record])
    #expect(
      table.text(width: 80) == "ID  TITLE            VOTES  SCORE  OPEN\n 7  A b c  123456789012345   1.50  true\n")
    // VOTES does not fit, SCORE and OPEN do.
    #expect(table.text(width: 24) == "ID  TITLE  SCORE  OPEN\n 7  A b c   1.50  true\n")
    #expect(table.text(width: 12) == "ID  TITLE\n 7  A b c\n")
    #expect(table.tabSeparated == "id\ttitle\tvotes\tscore\topen\n7\tA b c\t123456789012345\t1.50\ttrue\n")
    #expect("A\r\nb\r\n\tc".oneLine == "A b c")
  }

  @Test("rosterctl list prints one line for each resource")
  func resources() {
    #expect(
      ResourceTable([("character", "characters", 826), ("episode", "episodes", 51)]).text(width: nil) == """
        RESOURCE   TABLE       RECORDS
        character  characters      826
        episode    episodes         51

        """)
  }
}
