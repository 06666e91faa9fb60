import RosterCore
import Testing

@testable import RosterTerminal

@Suite struct RejectTextTests {
  @Test("rosterctl rejects prints the place, the reason and the record, cut to the width")
  func text() {
    let reject = RejectedRecord(
      sync: 1, resource: "issue", page: 3, position: 17, reason: "name is no text", document: #"{"id":58,"name":5}"#)
    #expect(reject.text(width: nil) == "issue, page 3, position 17: name is no text\n    {\"id\":58,\"name\":5}\n")
    #expect(reject.text(width: 20) == "issue, page 3,\nposition 17: name is\nno text\n    {\"id\":58,\"name\"…\n")
    var child = RejectedRecord(
      sync: 1, resource: "note", page: 1, position: 1, reason: "text is no string", document: "{}")
    child.parent = "item 2"
    #expect(child.text(width: nil) == "note of item 2, page 1, position 1: text is no string\n    {}\n")
    let asked = RejectedRecord(sync: 1, resource: "issue", page: 0, position: 0, reason: "r", document: "{}")
    var named = asked
    named.key = "8"
    #expect(named.text(width: nil) == "issue, record 8: r\n    {}\n")
    #expect(asked.text(width: nil) == "issue, a record without a page: r\n    {}\n")
  }
}
