import RosterCore
import Testing

@testable import RosterTerminal

@Suite struct PendingTextTests {
  private let character: PendingResource = {
    var resource = PendingResource(
      name: "character", telling: Resource.character.columns.filter { ["id", "name"].contains($0.name) },
      members: Resource.character.columns.map(\.name))
    (resource.added, resource.changed, resource.removed) = (3, 2, 1)
    return resource
  }()

  private func pull(_ change: (inout PendingPull) -> Void = { _ in }) -> PendingPull {
    var pull = PendingPull()
    var location = PendingResource(name: "location", telling: [], members: [])
    location.changed = 1_200
    (pull.sync, pull.isWhole) = (18, true)
    pull.resources = [character, location, PendingResource(name: "episode", telling: [], members: [])]
    change(&pull)
    return pull
  }

  private let rick =
    #"{"id":1,"name":"Rick Sanchez","status":"Alive","note":"x","extra":{"a":1.10},"episodes":["e/1","e/2"]}"#
  private let dead =
    #"{"id":1,"name":"Rick Sanchez","status":"Dead","note":"\u001b[31m","extra":null,"episodes":["e/2","e/3"]}"#

  @Test("pending starts with the sum, like git diff --stat; its bar fits the line and shows each kind of change")
  func summary() {
    let lines = PendingText(pull(), width: 60).summary.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines[0] == "sync 18 has published nothing: it would change 1,206 records")
    #expect(lines[1] == " character |     6 +~−")
    #expect(lines[2].hasPrefix(" location  | 1,200 ~~~") && lines[2].count <= 60)
    #expect(lines[3] == " 2 resources, 3 added, 1,202 changed, 1 removed" && lines[4].isEmpty)
    let small = pull { $0.resources.removeLast(2) }
    #expect(PendingText(small, width: 60).summary.contains(" character | 6 +++~~−\n 1 resource, "))
  }

  @Test("pending says how the sync ended, and what to do about it")
  func heads() {
    #expect(PendingText(PendingPull(), width: 80).summary == "nothing is pulled that is not published\n")
    let broken = pull { $0.isWhole = false }
    #expect(PendingText(broken, width: nil).summary.hasPrefix("sync 18 did not get to its end: what it has pulled"))
    let guarded = pull {
      $0.report = SyncRecord(id: 18, startedAt: "", outcome: .failed)
      $0.report?.error = "upstream lacks 7\u{1b}"
    }
    #expect(
      PendingText(guarded, width: nil).summary.hasPrefix(
        "sync 18 has published nothing: it would change 1,206 records; upstream lacks 7\u{FFFD}\n"))
    let none = pull { $0.resources = [] }
    #expect(PendingText(none, width: 80).summary == "sync 18 has published nothing: it would change nothing\n")
  }

  @Test("pending says how a sync ended whose row still runs, as the daemon knows it")
  func settled() {
    let running = pull {
      $0.isWhole = false
      $0.report = SyncRecord(id: 18, startedAt: "", outcome: .running)
    }
    func start(_ syncs: DaemonStatus.Sync) -> String {
      PendingText(running.settled(by: syncs), width: nil).summary.split(separator: ":").first.map(String.init) ?? ""
    }
    var syncs = DaemonStatus.Sync()
    syncs.last = SyncRecord(id: 17, startedAt: "", outcome: .published)
    #expect(start(syncs) == "sync 18 was interrupted")
    syncs.last = SyncRecord(id: 18, startedAt: "", outcome: .failed)
    #expect(start(syncs) == "sync 18 failed")
    syncs.current = DaemonStatus.Current(SyncRecord(id: 18, startedAt: ""), counts: Tally().now, phase: .pulling)
    #expect(start(syncs) == "sync 18 runs")
  }

  @Test("pending lists records with their fields before and after, and does not control the terminal")
  func records() {
    let text = PendingText(pull(), width: nil)
    let record = PendingRecord(
      kind: .changed, key: "1", fields: ["status", "note", "extra.a", "episodes", "other"], before: rick, after: dead)
    #expect(
      text.text(of: record, character) == """
        ~ character 1  Rick Sanchez
            status    Alive → Dead
            note      x → \u{FFFD}[31m
            extra.a   1.10 → (none)
            episodes  + e/3
                      − e/1
            other     changed

        """)
    #expect(
      text.text(of: PendingRecord(kind: .removed, key: "1", before: rick), character) == "− character 1  Rick Sanchez\n"
    )
    #expect(
      text.text(
        of: PendingRecord(kind: .added, key: #""a""#, after: "{}"), PendingResource(name: "b", telling: [], members: [])
      )
        == "+ b a\n")
  }

  @Test("51: a composite key of a record, and of its parent, is written as its values, one after another")
  func compositeKeys() {
    let text = PendingText(PendingPull(), width: 80)
    let columns = ["game", "level", "title"].map { Resource.Column($0, at: JSONPointer(segments: [$0])) }
    let score = PendingResource(name: "score", telling: columns, members: [])
    let record = #"{"game":"go","level":-7,"title":"Rook"}"#
    #expect(
      text.text(of: PendingRecord(kind: .removed, key: #"["go",-7]"#, before: record), score)
        == "− score go -7  Rook\n")
    var note = PendingResource(name: "note", telling: Array(columns.prefix(1)), members: [])
    note.parent = "score"
    note.isDetail = true
    var detail = PendingRecord(kind: .removed, key: #"["go",-7]"#, before: record)
    detail.of = #"[["go",-7]]"#
    #expect(text.text(of: detail, note) == "− note go -7 of score go -7\n")
  }

  @Test("pending fits the terminal, colour aside; the common beginning of two long values is left out")
  func width() {
    let long = String(repeating: "word ", count: 60)
    let (before, after) = (
      #"{"id":1,"name":"\#(long)","status":"\#(long)1"}"#, #"{"id":1,"name":"N","status":"\#(long)2"}"#
    )
    let record = PendingRecord(kind: .changed, key: "1", fields: ["name", "status"], before: before, after: after)
    for width in [40, 80, 120] {
      let plain = PendingText(pull(), width: width).text(of: record, character)
      #expect(plain.split(separator: "\n").allSatisfy { String($0).cells <= width }, "\(plain)")
      #expect(plain.contains("…rd word 1 → …rd word 2"), "\(plain)")
      let coloured = PendingText(pull(), width: width, colour: true).text(of: record, character)
      #expect(coloured.replacing(/\u{1b}\[[0-9]*m/, with: "") == plain && coloured != plain)
    }
  }

  @Test("pending cuts a long list on a terminal")
  func lists() {
    let many = (1...30).map { "\"e/\($0)\"" }.joined(separator: ",")
    let record = PendingRecord(
      kind: .changed, key: "1", fields: ["episodes"], before: #"{"id":1,"episodes":[]}"#,
      after: "{\"id\":1,\"episodes\":[\(many)]}")
    #expect(PendingText(pull(), width: 80).text(of: record, character).contains("and 20 more\n"))
    #expect(PendingText(pull(), width: nil).text(of: record, character).contains("+ e/30\n"))
  }
}
