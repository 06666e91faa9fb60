import Testing

@testable import RosterStatusClient

@Suite struct EventStreamParserTests {
  @Test("The parser reads frames of an event stream in any pieces")
  func parses() {
    let text = "id: 7\nevent: page.fetched\ndata: {\"page\":1}\n\nevent: events.lost\ndata: {}\n\n"
    let expected = [
      StreamedEvent(id: "7", name: "page.fetched", data: #"{"page":1}"#),
      StreamedEvent(name: "events.lost", data: "{}"),
    ]
    for size in [1, 7, 1000] {
      var parser = EventStreamParser()
      var events: [StreamedEvent] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        events += parser.feed(rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      #expect(events == expected)
    }
  }
}
