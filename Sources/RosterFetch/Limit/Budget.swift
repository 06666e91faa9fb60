package import RosterModel

/// The requests of the last window, and whether one more fits (P1, `limit.budget`). Pure; times are `WallClock.uptime`.
///
/// A request counts until it has been over for a whole window, since nobody knows when between its start and its end it
/// reached upstream: so upstream sees no more than the limit in any such time either. Requests that start within a
/// 240th of the window are counted together, until the last of them leaves it: some of them a little too long, none too
/// short.
package struct Budget: Sendable, Equatable {
  /// Requests that are counted together.
  package struct Entry: Sendable, Equatable {
    /// Those of a budget follow one another without a gap.
    package var id: Int
    /// The start of the first.
    package var began: Duration
    /// The latest that is known of any of them: its start, or its end.
    package var last: Duration
    /// Those that are under way included.
    package var requests: Int
    /// Those that are under way: while there are some, it does not leave the window.
    package var open: Int

    /// As it was stored, or counted.
    package init(id: Int, began: Duration, last: Duration, requests: Int, open: Int) {
      self.id = id
      self.began = began
      self.last = last
      self.requests = requests
      self.open = open
    }
  }

  /// Entries that are kept. Beyond, as where requests take longer than the window, the two oldest become one.
  package static let mostEntries = 240

  /// What `limit.budget` says.
  package private(set) var rule: RequestBudget
  /// The oldest first, at most `mostEntries`.
  package private(set) var entries: [Entry]
  private var nextID: Int
  private var changed: Set<Int> = []

  /// - Parameter entries: as an earlier process stored them, by their start.
  package init(_ rule: RequestBudget, entries: [Entry] = []) {
    self.rule = rule
    self.entries = []
    nextID = 1
    for entry in entries { append(entry) }
  }

  // MARK: Requests

  /// A request is about to start: the entry that counts it, for `ended`; nil: it does not fit.
  package mutating func spend(at now: Duration) -> Int? {
    guard used(at: now) < rule.limit else { return nil }
    if let last = entries.last, now - last.began < rule.window / Self.mostEntries {
      let index = entries.count - 1
      entries[index].last = now
      entries[index].requests += 1
      entries[index].open += 1
      changed.insert(last.id)
    } else {
      append(Entry(id: nextID, began: now, last: now, requests: 1, open: 1))
    }
    dropExpired(at: now)
    return entries.last?.id
  }

  /// - Parameter isSent: false where no byte of it can have reached upstream: it does not count.
  package mutating func ended(_ id: Int, at now: Duration, isSent: Bool) {
    // The entry may be part of a later one by now.
    guard let index = entries.firstIndex(where: { $0.id >= id }), entries[index].open > 0 else { return }
    entries[index].open -= 1
    entries[index].last = max(entries[index].last, now)
    if !isSent { entries[index].requests -= 1 }
    changed.insert(entries[index].id)
  }

  // MARK: What is left

  /// Requests of the window that ends now.
  package func used(at now: Duration) -> Int {
    entries.reduce(0) { isOver($1, at: now) ? $0 : $0 + $1.requests }
  }

  /// How long until so many more requests fit, or, where they are more than the limit, until none counts any more; nil:
  /// they do now. Those that are under way are taken to end now.
  package func wait(for requests: Int, at now: Duration) -> Duration? {
    var excess = used(at: now) + min(max(requests, 1), rule.limit) - rule.limit
    guard excess > 0 else { return nil }
    let leaving = entries.filter { !isOver($0, at: now) }.map { (at: end(of: $0, at: now), requests: $0.requests) }
    for entry in leaving.sorted(by: { $0.at < $1.at }) {
      excess -= entry.requests
      if excess <= 0 { return entry.at - now }
    }
    return rule.window
  }

  private func end(of entry: Entry, at now: Duration) -> Duration {
    (entry.open > 0 ? max(now, entry.last) : entry.last) + rule.window
  }

  private func isOver(_ entry: Entry, at now: Duration) -> Bool { end(of: entry, at: now) <= now }

  // MARK: Upkeep

  /// As a reload has it. What left the old window before is forgotten, also where the new one is longer.
  package mutating func change(_ rule: RequestBudget) { self.rule = rule }

  /// Entries whose stored form is not what they are now; nil where an entry has gone. Each change is told once.
  package mutating func takeChanges() -> [(id: Int, entry: Entry?)] {
    defer { changed = [] }
    return changed.map { id in (id, entries.first { $0.id == id }) }
  }

  /// All of them are to be stored anew, as after the clock was set.
  package mutating func touchAll() { changed.formUnion(entries.map(\.id)) }

  private mutating func append(_ entry: Entry) {
    var entry = entry
    entry.id = nextID
    nextID += 1
    entries.append(entry)
    changed.insert(entry.id)
    if entries.count > Self.mostEntries { joinOldest(at: entry.began) }
  }

  private mutating func joinOldest(at now: Duration) {
    let oldest = entries.removeFirst()
    changed.insert(oldest.id)
    guard !isOver(oldest, at: now) else { return }
    let second = entries[0]
    let isOver = isOver(second, at: now)
    entries[0].began = oldest.began
    entries[0].last = max(oldest.last, second.last)
    entries[0].requests = oldest.requests + (isOver ? 0 : second.requests)
    entries[0].open = oldest.open + second.open
    changed.insert(second.id)
  }

  /// Only those at the front, so that the ids stay without a gap.
  private mutating func dropExpired(at now: Duration) {
    while let first = entries.first, isOver(first, at: now) { entries.removeFirst() }
  }
}
