package import RosterCore

/// Counts the requests of the last window, and decides whether another one fits (`limit.budget`). Pure; times are
/// `WallClock.uptime`.
///
/// A request counts until a whole window after its end, because it may have reached upstream at any time between its
/// start and its end. Upstream therefore sees at most the limit in any such window. Requests that start within a 240th
/// of the window are counted together, until the last of them leaves it. Some of them count a little too long, never
/// too short.
package struct Budget: Sendable, Equatable {
  /// Requests that are counted together.
  package struct Entry: Sendable, Equatable {
    /// Ids of a budget's entries have no gaps.
    package var id: Int
    /// Start of the first request.
    package var began: Duration
    /// The latest known start or end of any of the requests.
    package var last: Duration
    /// Number of requests, including open ones.
    package var requests: Int
    /// Number of open requests. An entry with open requests does not leave the window.
    package var open: Int
  }

  /// Largest number of entries. At this limit the oldest one is dropped, or joined with the next one if the window
  /// still contains both. Entries that have left the window remain until then, because a reload may lengthen it.
  package static let maxEntries = 240

  /// The value of `limit.budget`.
  package private(set) var rule: RequestBudget
  /// The entries, the oldest first; no more than `maxEntries`. Only entries at the front are removed, so that the ids
  /// have no gaps.
  package private(set) var entries: [Entry]
  private var nextID: Int
  private var changed: Set<Int> = []

  /// - Parameter entries: the stored entries of an earlier process, ordered by their start.
  package init(_ rule: RequestBudget, entries: [Entry] = []) {
    self.rule = rule
    self.entries = []
    nextID = 1
    for entry in entries { append(entry) }
  }

  // MARK: Requests

  /// Counts a request that is about to start, and returns its entry for `ended`; nil if it does not fit.
  package mutating func spend(at now: Duration) -> Int? {
    guard used(at: now) < rule.limit else { return nil }
    if let last = entries.last, now - last.began < rule.window / Self.maxEntries {
      let index = entries.count - 1
      entries[index].last = now
      entries[index].requests += 1
      entries[index].open += 1
      changed.insert(last.id)
    } else {
      append(Entry(id: nextID, began: now, last: now, requests: 1, open: 1))
    }
    return entries.last?.id
  }

  /// - Parameter isSent: false if no byte of the request can have reached upstream: then it does not count.
  package mutating func ended(_ id: Int, at now: Duration, isSent: Bool) {
    // The entry may have been joined with a later one.
    guard let index = entries.firstIndex(where: { $0.id >= id }), entries[index].open > 0 else { return }
    entries[index].open -= 1
    entries[index].last = max(entries[index].last, now)
    if !isSent { entries[index].requests -= 1 }
    changed.insert(entries[index].id)
  }

  // MARK: What is left

  /// Number of requests in the window that ends now.
  package func used(at now: Duration) -> Int {
    entries.reduce(0) { isOver($1, at: now) ? $0 : $0 + $1.requests }
  }

  /// Time until this number of requests fits, or until no request counts any more if the number exceeds the limit. nil
  /// if they fit now. Open requests are assumed to end now.
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

  /// Applies the rule of a reload. Requests that left the old window count again if the new one is longer.
  package mutating func change(_ rule: RequestBudget) { self.rule = rule }

  /// Entries that differ from their stored form; nil for a removed entry. Each change is returned once.
  package mutating func takeChanges() -> [(id: Int, entry: Entry?)] {
    defer { changed = [] }
    return changed.map { id in (id, entries.first { $0.id == id }) }
  }

  /// Marks all entries for storing, for example after the clock was set.
  package mutating func touchAll() { changed.formUnion(entries.map(\.id)) }

  private mutating func append(_ entry: Entry) {
    var entry = entry
    entry.id = nextID
    nextID += 1
    entries.append(entry)
    changed.insert(entry.id)
    if entries.count > Self.maxEntries { joinOldest(at: entry.began) }
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
}
