/// One event of `/v1/events` from a client's point of view.
package struct StreamedEvent: Sendable, Equatable {
  /// nil for `events.lost`.
  package var id: String?
  /// Name such as `sync.started`.
  package var name: String
  /// The data, a JSON object.
  package var data: String
}

/// Parses `text/event-stream` in the daemon's form: one line each for id, event and data, then a blank line (WHATWG
/// HTML §9.2.6).
struct EventStreamParser {
  private var line: [UInt8] = []
  private var event = StreamedEvent(name: "message", data: "")

  /// Returns the events that these bytes complete.
  mutating func feed(_ bytes: some Sequence<UInt8>) -> [StreamedEvent] {
    var events: [StreamedEvent] = []
    for byte in bytes {
      if byte != UInt8(ascii: "\n") {
        line.append(byte)
      } else if let event = endLine() {
        events.append(event)
      }
    }
    return events
  }

  private mutating func endLine() -> StreamedEvent? {
    defer { line.removeAll(keepingCapacity: true) }
    if line.isEmpty {
      defer { event = StreamedEvent(name: "message", data: "") }
      return event.data.isEmpty ? nil : event
    }
    let halves = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.count == 2 else { return nil }
    let value = halves[1].first == UInt8(ascii: " ") ? halves[1].dropFirst() : halves[1]
    let text = String(decoding: value, as: UTF8.self)
    switch String(decoding: halves[0], as: UTF8.self) {
    case "id": event.id = text
    case "event": event.name = text
    case "data": event.data += text
    default: break
    }
    return nil
  }
}
