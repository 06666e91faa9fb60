package import FoundationEssentials
package import RosterCore
import RosterDecode
import Synchronization

/// One event with its place in the stream. Its text is made at the first read, because a pull reports 10,000
/// `page.fetched` a second, mostly without a reader. It is made only once, because there may be fifty readers.
package final class EventEntry: Sendable {
  /// nil for `events.lost`, so that a reader's `Last-Event-ID` is kept.
  package let id: UInt64?
  /// The time of the report.
  package let at: Date
  /// The event.
  package let event: Event

  init(id: UInt64?, at: Date, event: Event) {
    self.id = id
    self.at = at
    self.event = event
  }

  /// The event as a block of `text/event-stream` (WHATWG HTML §9.2.5).
  package var frame: [UInt8] {
    text.withLock { text in
      let made = text ?? made
      text = made
      return made
    }
  }

  private let text = Mutex<[UInt8]?>(nil)

  private var made: [UInt8] {
    let id = id.map { "id: \($0)\n" } ?? ""
    return Array("\(id)event: \(event.name.rawValue)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }

  /// Size of the frame.
  var cost: Int { frame.count }

  /// The value of `data`: the time, and the fields of the event.
  var data: [UInt8] {
    JSONWriter.object { json in
      json.member("at", at.rfc3339)
      if let sync = event.sync ?? event.report?.id { json.member("sync", sync) }
      if let resource = event.resource { json.member("resource", resource) }
      if let page = event.page { json.member("page", page) }
      if let done = event.pagesDone { json.member("pages_done", done) }
      if let total = event.pagesTotal { json.member("pages_total", total) }
      if let attempt = event.attempt { json.member("attempt", attempt) }
      if let isFresh = event.isFresh { json.member("fresh", isFresh) }
      if let of = event.of { json.member("of", json: of) }
      if let reason = event.reason { json.member("reason", reason) }
      if let delay = event.delaySeconds { json.member("delay_seconds", delay) }
      if let report = event.report {
        json.members(of: report, error: event.error, exit: event.exit)
      } else {
        if let error = event.error { json.member("error", error) }
        if let exit = event.exit { json.member("exit", exit) }
      }
    }.bytes
  }
}

extension JSONWriter {
  /// The columns of `syncs`. The event's own error and exit are used if the report has none.
  fileprivate mutating func members(of report: SyncRecord, error: String?, exit: Int32?) {
    member("id", report.id)
    member("started_at", report.startedAt)
    member("finished_at", report.finishedAt)
    member("outcome", report.outcome.rawValue)
    for (name, count) in SyncRecord.counts { member(name, report[keyPath: count]) }
    name("exit")
    if let exit = report.exit ?? exit { value(exit) } else { null() }
    member("error", report.error ?? error)
  }
}
