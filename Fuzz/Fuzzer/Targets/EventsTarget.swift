@testable import RosterStatusClient

/// An event stream: the events do not depend on how it is split into pieces. Each event, written in the daemon's form,
/// is read as the same event again.
enum EventsTarget {
  static func check(_ input: [UInt8]) {
    let (choices, stream) = Choices.split(input)
    var whole = EventStreamParser()
    let events = whole.feed(stream)
    var cut = EventStreamParser()
    let others = stream.pieces(choices).flatMap { cut.feed($0) }
    promise(others == events, "in pieces: \(others), whole: \(events)")
    promise(events.allSatisfy { !$0.data.isEmpty }, "an event without data")
    let written = events.map { event in
      (event.id.map { "id: \($0)\n" } ?? "") + "event: \(event.name)\ndata: \(event.data)\n\n"
    }
    var again = EventStreamParser()
    promise(again.feed(written.joined().utf8) == events, "written again, they are others")
    // The rest of the input must not affect the next event.
    let next = whole.feed(Array("\n\ndata: x\n\n".utf8)).last
    promise(next == StreamedEvent(name: "message", data: "x"), "an event has what is another's: \(next as Any)")
  }
}
