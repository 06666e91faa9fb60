import FoundationEssentials
import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterStatus

@Suite struct EventLogTests {
  private let clock = ManualClock()

  private func names(_ batch: EventLog.Batch) -> [String] {
    guard case .events(let entries, _) = batch else { return [] }
    return entries.map { "\($0.event.name.rawValue) \($0.event.page ?? 0)" }
  }

  private func all(_ log: EventLog, after last: UInt64?) -> [EventEntry] {
    let reader = log.subscribe(after: last, wake: {})
    guard case .events(let entries, _) = log.take(reader, bytes: .max) else { return [] }
    return entries
  }

  @Test("Ids of events grow by one, and across a restart")
  func idsGrow() {
    let log = EventLog(clock: clock.wallClock)
    log.append(Event(.syncStarted))
    log.append(Event(.syncPublished))
    let ids = all(log, after: 0).compactMap(\.id)
    #expect(ids.count == 2 && ids[1] == ids[0] + 1)

    clock.advance(by: .seconds(1))
    let restarted = EventLog(clock: clock.wallClock)
    restarted.append(Event(.syncStarted))
    let later = all(restarted, after: 0).compactMap(\.id)
    #expect(later[0] > ids[1])
  }

  @Test("Ids of events grow across a restart also if the clock was set back, from the last sync's time on")
  func clockSetBack() {
    let log = EventLog(clock: clock.wallClock)
    clock.advance(by: .seconds(60))
    for _ in 1...100 { log.append(Event(.pageFetched)) }
    let before = all(log, after: 0).compactMap(\.id)
    let syncEnd = clock.now
    let setBack = ManualClock(now: syncEnd - 3600)
    let restarted = EventLog(clock: setBack.wallClock, known: syncEnd)
    restarted.append(Event(.syncStarted))
    let later = all(restarted, after: before.last)
    #expect(later.map(\.event.name) == [.eventsLost, .syncStarted] && (later.last?.id ?? 0) > (before.last ?? .max))
  }

  @Test("Two restarts in a row after the clock was set back use no id twice, so that a gap is reported")
  func restartedTwice() {
    let setBack = ManualClock(now: clock.now - 3600)
    let ids = (1...2).map { _ in
      let log = EventLog(clock: setBack.wallClock, known: clock.now)
      for page in 1...10 { log.append(Event(.pageFetched, page: page)) }
      return all(log, after: 0).compactMap(\.id)
    }
    #expect(Set(ids[0]).isDisjoint(with: ids[1]))
    let log = EventLog(clock: setBack.wallClock, known: clock.now)
    for page in 1...10 { log.append(Event(.pageFetched, page: page)) }
    #expect(all(log, after: ids[0][3]).map(\.event.name).first == .eventsLost)
  }

  @Test("A reader without Last-Event-ID gets the events from now on, in order")
  func fromNowOn() {
    let log = EventLog(clock: clock.wallClock)
    log.append(Event(.syncStarted))
    let reader = log.subscribe(after: nil, wake: {})
    for page in 1...3 { log.append(Event(.pageFetched, page: page)) }
    #expect(names(log.take(reader, bytes: .max)) == ["page.fetched 1", "page.fetched 2", "page.fetched 3"])
    #expect(names(log.take(reader, bytes: .max)) == [])
  }

  @Test("Last-Event-ID resumes after that event, without a gap")
  func resumes() {
    let log = EventLog(clock: clock.wallClock)
    for page in 1...3 { log.append(Event(.pageFetched, page: page)) }
    log.append(Event(.syncPublished))
    let kept = all(log, after: 0)
    #expect(kept.first?.event.name == .eventsLost)
    let resumed = all(log, after: kept[2].id)
    #expect(resumed.map(\.event.name) == [.pageFetched, .syncPublished])
    #expect(all(log, after: kept[4].id).isEmpty)
  }

  @Test("page.fetched makes room first, and events.lost, which has no id, reports a gap")
  func makesRoom() throws {
    let log = EventLog(clock: clock.wallClock)
    log.append(Event(.syncStarted))
    let first = try #require(all(log, after: 0).last?.id)
    for page in 1...(EventLog.kept + 10) { log.append(Event(.pageFetched, page: page)) }
    let kept = all(log, after: first - 1)
    #expect(kept[0].event.name == .eventsLost && kept[0].id == nil)
    #expect(kept[1].event.name == .syncStarted)
    #expect(kept[2].event.page == 12)
    #expect(kept.count == EventLog.kept + 1)
  }

  @Test("An id of the future is a gap, and not silence")
  func futureID() {
    let log = EventLog(clock: clock.wallClock)
    log.append(Event(.syncStarted))
    #expect(all(log, after: .max).map(\.event.name) == [.eventsLost, .syncStarted])
  }

  @Test("45: a reader with more than 256 KiB of new events waiting is dropped, the others are not")
  func dropsSlowReader() {
    let log = EventLog(clock: clock.wallClock)
    let slow = log.subscribe(after: nil, wake: {})
    let quick = log.subscribe(after: nil, wake: {})
    let error = String(repeating: "x", count: 1000)
    var waited = 0
    for _ in 0..<400 {
      let event = Event(.pageRetried, error: error)
      log.append(event)
      if case .events(_, let cost) = log.take(quick, bytes: .max) { log.wrote(quick, cost: cost) }
      if case .dropped = log.take(slow, bytes: 0) { break }
      waited += EventEntry(id: 1, at: clock.now, event: event).frame.count
    }
    guard case .dropped = log.take(slow, bytes: 0) else {
      Issue.record("the slow reader was not dropped after \(waited) bytes")
      return
    }
    #expect(waited <= EventLog.backlog)
    guard case .nothing = log.take(quick, bytes: .max) else {
      Issue.record("the quick reader was dropped too")
      return
    }
  }

  @Test("45: one long event counts with its real size, and drops no reader that keeps up")
  func longEvent() {
    let log = EventLog(clock: clock.wallClock)
    let reader = log.subscribe(after: nil, wake: {})
    log.append(Event(.configRefused, error: String(repeating: "x", count: 100_000)))
    log.append(Event(.configRefused, error: String(repeating: "y", count: 100_000)))
    #expect(names(log.take(reader, bytes: .max)).count == 2)
    log.append(Event(.configRefused, error: String(repeating: "z", count: 100_000)))
    guard case .dropped = log.take(reader, bytes: .max) else {
      Issue.record("300 kB wait for this reader")
      return
    }
  }

  @Test("A sleeping reader of events is woken once, until it has taken everything")
  func wakesOnce() {
    let log = EventLog(clock: clock.wallClock)
    let wakes = Mutex(0)
    let reader = log.subscribe(after: nil) { wakes.withLock { $0 += 1 } }
    for _ in 0..<5 { log.append(Event(.syncStarted)) }
    #expect(wakes.withLock { $0 } == 1)
    _ = log.take(reader, bytes: .max)
    log.append(Event(.syncStarted))
    #expect(wakes.withLock { $0 } == 2)
  }
}
