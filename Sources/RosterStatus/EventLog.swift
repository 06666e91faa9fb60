package import FoundationEssentials
package import RosterModel
import Synchronization

/// The latest events for those who come back with a `Last-Event-ID`, and a queue for each who listens now. Nobody who
/// reports an event waits for a reader.
package final class EventLog: Sendable {
  /// How many events a reader can come back to.
  package static let kept = 1024
  /// New events that may wait for one reader, in bytes; with more of them it is dropped (S2).
  package static let backlog = 256 * 1024

  /// What one reader is to be sent next.
  package enum Batch: Sendable {
    case nothing
    /// `cost` is to be given back by `wrote` once the bytes have left.
    case events([EventEntry], cost: Int)
    /// It was too slow: end its connection.
    case dropped
  }

  /// Names one reader.
  package struct ReaderID: Sendable, Hashable {
    fileprivate var number: Int
  }

  fileprivate struct Reader {
    var queue = Fifo<(entry: EventEntry, cost: Int)>()
    /// Bytes of new events that it was not sent yet.
    var waiting = 0
    /// It was woken and has not emptied its queue since.
    var awake = false
    var dropped = false
    var wake: @Sendable () -> Void
  }

  fileprivate struct State {
    var nextID: UInt64
    /// No event up to this id is kept any more.
    var lostThrough: UInt64
    var pages = Fifo<EventEntry>()
    var others = Fifo<EventEntry>()
    var nextReader = 0
    var readers: [ReaderID: Reader] = [:]
  }

  private let clock: WallClock
  private let state: Mutex<State>

  /// - Parameter known: a time that the daemon before this one has seen, in case the clock was set back since; nil:
  ///   none.
  package init(clock: WallClock, known: Date? = nil) {
    self.clock = clock
    // Ids grow across restarts because they start from the time; a thousand a millisecond is more than rosterd can
    // report, and the product stays below 2^53, where JavaScript's numbers end.
    let idsPerMillisecond = 1000.0
    let start = max(clock.now(), known ?? .distantPast)
    let first = UInt64(max(1, start.timeIntervalSince1970 * 1000 * idsPerMillisecond))
    state = Mutex(State(nextID: first, lostThrough: first - 1))
  }

  /// Takes an event and wakes those who listen.
  package func append(_ event: Event) {
    let wakes = state.withLock { state in
      let entry = EventEntry(id: state.nextID, at: clock.now(), event: event)
      state.nextID += 1
      state.keep(entry)
      return state.offer(entry)
    }
    for wake in wakes { wake() }
  }

  /// Starts a reader, from the event after `last` where it names one, else from now on. `wake` is called, from any
  /// thread, when there is something to take.
  package func subscribe(after last: UInt64?, wake: @escaping @Sendable () -> Void) -> ReaderID {
    let (id, ready) = state.withLock { state in
      var reader = Reader(wake: wake)
      if let last {
        let seen = last < state.nextID ? last : 0
        if seen < state.lostThrough {
          let lost = EventEntry(id: nil, at: clock.now(), event: Event(.eventsLost))
          reader.queue.append((lost, 0))
        }
        for entry in state.events(after: seen) { reader.queue.append((entry, 0)) }
      }
      reader.awake = !reader.queue.isEmpty
      let id = ReaderID(number: state.nextReader)
      state.nextReader += 1
      state.readers[id] = reader
      return (id, reader.awake)
    }
    if ready { wake() }
    return id
  }

  /// The next events of a reader, about `bytes` of them.
  package func take(_ id: ReaderID, bytes: Int) -> Batch {
    state.withLock { $0.readers[id]?.take(bytes) ?? .dropped }
  }

  /// Bytes of a batch have left.
  package func wrote(_ id: ReaderID, cost: Int) {
    state.withLock { $0.readers[id]?.waiting -= cost }
  }

  /// The reader has gone; what waits for it is dropped.
  package func unsubscribe(_ id: ReaderID) {
    state.withLock { _ = $0.readers.removeValue(forKey: id) }
  }

  /// How many there are now.
  package var readers: Int { state.withLock { $0.readers.count } }
}

extension EventLog.State {
  /// `page.fetched` makes room first: the rare events are what one comes back for.
  fileprivate mutating func keep(_ entry: EventEntry) {
    if pages.count + others.count >= EventLog.kept {
      let gone = pages.popFirst() ?? others.popFirst()
      lostThrough = max(lostThrough, gone?.id ?? 0)
    }
    if entry.event.name == .pageFetched { pages.append(entry) } else { others.append(entry) }
  }

  fileprivate mutating func offer(_ entry: EventEntry) -> [@Sendable () -> Void] {
    readers.isEmpty ? [] : readers.keys.compactMap { readers[$0]?.offer(entry) }
  }

  fileprivate func events(after last: UInt64) -> [EventEntry] {
    (pages.elements + others.elements).filter { ($0.id ?? 0) > last }.sorted { ($0.id ?? 0) < ($1.id ?? 0) }
  }
}

extension EventLog.Reader {
  /// How to wake the reader, where it sleeps.
  fileprivate mutating func offer(_ entry: EventEntry) -> (@Sendable () -> Void)? {
    guard !dropped else { return nil }
    if waiting + entry.cost > EventLog.backlog {
      dropped = true
      queue = Fifo()
      return wake
    }
    waiting += entry.cost
    queue.append((entry, entry.cost))
    defer { awake = true }
    return awake ? nil : wake
  }

  fileprivate mutating func take(_ bytes: Int) -> EventLog.Batch {
    if dropped { return .dropped }
    var entries: [EventEntry] = []
    var (size, cost) = (0, 0)
    while size < bytes, let next = queue.popFirst() {
      entries.append(next.entry)
      size += next.entry.cost
      cost += next.cost
    }
    awake = !queue.isEmpty
    return entries.isEmpty ? .nothing : .events(entries, cost: cost)
  }
}
