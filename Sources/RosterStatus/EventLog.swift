package import FoundationEssentials
import NIOCore
package import RosterCore
import Synchronization

/// The latest events, for readers that return with a `Last-Event-ID`, and a queue for each current reader. Reporting an
/// event never waits for a reader.
package final class EventLog: Sendable {
  /// Number of events that a returning reader can get.
  package static let kept = 1024
  /// Limit in bytes for new events that wait for one reader. A reader above it is dropped.
  package static let backlog = 256 * 1024

  /// The next events for one reader.
  package enum Batch: Sendable {
    case nothing
    /// Give `cost` back with `wrote` when the bytes were sent.
    case events([EventEntry], cost: Int)
    /// The reader was too slow: end its connection.
    case dropped
  }

  /// Number of ids among which the first one is chosen after the clock was set back: that of 1,000 s.
  private static let spread: UInt64 = 1_000_000_000

  /// Identifies one reader.
  package struct ReaderID: Sendable, Hashable {
    fileprivate var number: Int
  }

  fileprivate struct Reader {
    var queue = CircularBuffer<(entry: EventEntry, cost: Int)>()
    /// Bytes of new events that were not sent yet.
    var waiting = 0
    /// True if the reader was woken and has not emptied its queue since.
    var awake = false
    var dropped = false
    var wake: @Sendable () -> Void
  }

  fileprivate struct State {
    var nextID: UInt64
    /// The largest id of an event that is not kept any more.
    var lostThrough: UInt64
    var pages = CircularBuffer<EventEntry>()
    var others = CircularBuffer<EventEntry>()
    var nextReader = 0
    var readers: [ReaderID: Reader] = [:]
  }

  private let clock: WallClock
  private let state: Mutex<State>

  /// - Parameter known: a time at which the previous daemon ran, in case the clock was set back since; nil without such
  ///   a time.
  package init(clock: WallClock, known: Date? = nil) {
    self.clock = clock
    // Ids start from the time, so that they grow across restarts. rosterd cannot report a thousand events per
    // millisecond. The ids are below 2^53, the limit of exact numbers in JavaScript.
    let idsPerMillisecond = 1000.0
    let now = clock.now()
    let start = max(now, known ?? .distantPast)
    var first = UInt64(max(1, start.timeIntervalSince1970 * 1000 * idsPerMillisecond))
    // Another daemon may have started from the same known time, and its ids must not be used again.
    if start > now { first += UInt64.random(in: 0..<Self.spread) }
    state = Mutex(State(nextID: first, lostThrough: first - 1))
  }

  /// Stores an event and wakes readers.
  package func append(_ event: Event) {
    let wakes = state.withLock { state in
      let entry = EventEntry(id: state.nextID, at: clock.now(), event: event)
      state.nextID += 1
      state.keep(entry)
      return state.offer(entry)
    }
    for wake in wakes { wake() }
  }

  /// Starts a reader: after event `last`, or from now on if it is nil. `wake` is called, from any thread, when there
  /// are new events.
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

  /// The next events of a reader: about this number of bytes.
  package func take(_ id: ReaderID, bytes: Int) -> Batch {
    state.withLock { $0.readers[id]?.take(bytes) ?? .dropped }
  }

  /// Call this when the bytes of a batch were sent.
  package func wrote(_ id: ReaderID, cost: Int) {
    state.withLock { $0.readers[id]?.waiting -= cost }
  }

  /// Removes a reader, and drops its waiting events.
  package func unsubscribe(_ id: ReaderID) {
    state.withLock { _ = $0.readers.removeValue(forKey: id) }
  }

  /// Number of current readers.
  package var readers: Int { state.withLock { $0.readers.count } }
}

extension EventLog.State {
  /// `page.fetched` is dropped first, because the rare events are more useful to a returning reader.
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
    (Array(pages) + others).filter { ($0.id ?? 0) > last }.sorted { ($0.id ?? 0) < ($1.id ?? 0) }
  }
}

extension EventLog.Reader {
  /// Returns a function that wakes the reader; nil if the reader is awake.
  fileprivate mutating func offer(_ entry: EventEntry) -> (@Sendable () -> Void)? {
    guard !dropped else { return nil }
    if waiting + entry.cost > EventLog.backlog {
      dropped = true
      queue = CircularBuffer()
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

/// Counts the snapshots that readers have seen, and wakes the server whose clients wait for one.
final class SnapshotCount: Sendable {
  private struct State {
    var count = 0
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var value: Int { state.withLock { $0.count } }

  /// Call this when readers see another snapshot.
  func add() {
    let wake = state.withLock { state in
      state.count += 1
      return state.wake
    }
    wake?()
  }

  /// Sets the function that is called for each snapshot, from any thread; nil removes it.
  func wake(_ wake: (@Sendable () -> Void)?) { state.withLock { $0.wake = wake } }
}
