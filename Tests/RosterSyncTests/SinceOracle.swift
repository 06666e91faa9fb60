import Foundation
import RosterCore

/// Says what the cache must be after a published sync, by the answers that its pull is made of, and what it may lack.
struct SinceOracle {
  typealias Version = ChangingUpstream.Version

  let overlap: Int
  /// Versions that a pull did not receive, because their record moved between its pages.
  private var moved: [Int: Version] = [:]
  /// True if the last whole pull could not ask for all missing records, so that it removed none.
  private var isUnsettled = false

  init(overlap: Int) { self.overlap = overlap }

  /// The faults of the cache after a published sync.
  mutating func check(
    _ upstream: ChangingUpstream, before: CachedItems, after: CachedItems, isIncremental: Bool
  ) -> [String] {
    let pull: ComposedPull
    do { pull = try ComposedPull(upstream, isIncremental: isIncremental) } catch { return ["\(error)"] }
    var faults: [String] = []
    for (id, allowed) in allowed(pull, upstream.log, before) where !allowed.contains(after.records[id]) {
      faults.append("\(id) is \(after.records[id] ?? "missing"), not \(allowed.map { $0 ?? "missing" })")
    }
    faults += facts(pull, upstream, before: before, after: after)
    faults += noteMoved(pull, upstream)
    faults += settled(pull, upstream, after)
    return faults
  }

  /// The names that each record may have in the cache; nil means that the record may be missing. There is one name for
  /// each record, unless `by_key` failed.
  private func allowed(
    _ pull: ComposedPull, _ log: ChangingUpstream.Log, _ before: CachedItems
  ) -> [Int: Set<String?>] {
    var allowed: [Int: Set<String?>] = before.records.mapValues { [$0] }
    for (id, version) in pull.records { allowed[id] = [version.isClosed ? nil : version.name] }
    if pull.start != nil { return allowed }
    let missing = before.records.filter { pull.records[$0.key]?.isClosed != false }
    let isSuspended = log.hasFailedSingle || hasFailedControl(log, missing: missing)
    for (id, name) in missing {
      let isFound = log.singles[id].map { $0?.isClosed == false } == true
      if isFound, let version = log.singles[id] ?? nil {
        allowed[id] = isSuspended ? [version.name, name] : [version.name]
      } else {
        allowed[id] = [isSuspended ? name : nil]
      }
    }
    return allowed
  }

  /// True if the question for a record that the pull has seen found none.
  private func hasFailedControl(_ log: ChangingUpstream.Log, missing: [Int: String]) -> Bool {
    let found = log.singles.values.filter { $0?.isClosed == false }.count
    return found == 0 && log.singles.keys.contains { missing[$0] == nil }
  }

  // MARK: Mark and count

  private mutating func facts(
    _ pull: ComposedPull, _ upstream: ChangingUpstream, before: CachedItems, after: CachedItems
  ) -> [String] {
    var faults: [String] = []
    let old = before.mark.flatMap(seconds)
    let mark = pull.mark(after: old)
    if after.mark.flatMap(seconds) != mark { faults.append("the mark is \(after.mark ?? "missing"), not \(mark ?? 0)") }
    if pull.start != nil {
      return faults + (after.wholeAt == before.wholeAt ? [] : ["an incremental pull is not whole"])
    }
    let missed = old.map { old in
      pull.records.filter { id, version in
        !version.isClosed && before.records[id] != version.name && version.stamp < old - overlap
      }.count
    }
    if after.missed != missed { faults.append("\(after.missed ?? -1) missed, not \(missed ?? -1)") }
    isUnsettled =
      upstream.log.hasFailedSingle
      || hasFailedControl(upstream.log, missing: before.records.filter { pull.records[$0.key]?.isClosed != false })
    let isSteady = upstream.visible(at: pull.oldest) == upstream.visible()
    if isSteady, !isUnsettled, after.records != upstream.visible().filter({ !$0.value.isClosed }).mapValues(\.name) {
      faults.append("a whole pull of a quiet upstream differs")
    }
    return faults
  }

  private func seconds(_ mark: String) -> Int? {
    Mark(mark, form: .rfc3339).map { Int($0.value / 1_000_000_000) }
  }

  // MARK: What it may lack

  /// Notes the unchanged records that are on no page. Each must have moved, because a record before it appeared or
  /// disappeared.
  private mutating func noteMoved(_ pull: ComposedPull, _ upstream: ChangingUpstream) -> [String] {
    if pull.start == nil { moved = [:] }
    let (then, now) = (upstream.visible(at: pull.oldest), upstream.visible())
    let lost = then.filter { id, version in
      now[id] == version && upstream.isListed(version, from: pull.start) && pull.records[id] == nil
    }
    moved.merge(lost) { $1 }
    if pull.hasDrifted { return [] }
    let listed = [then, now].map { $0.filter { upstream.isListed($0.value, from: pull.start) }.keys }
    return lost.keys.compactMap { id in
      let hasReason = Set(listed[0]).symmetricDifference(listed[1]).contains { $0 < id }
      return hasReason ? nil : "\(id) is on no page of \(pull)"
    }
  }

  /// Versions that were visible when the oldest page was answered, and within the overlap, are in the cache.
  private func settled(_ pull: ComposedPull, _ upstream: ChangingUpstream, _ after: CachedItems) -> [String] {
    upstream.settled(since: pull.oldest).compactMap { id, version in
      if !version.isGuaranteed || moved[id] == version || (version.isClosed && isUnsettled) { return nil }
      let expected = version.isClosed ? nil : version.name
      if after.records[id] == expected { return nil }
      return "\(id) stays \(after.records[id] ?? "missing"), not \(expected ?? "missing")"
    }
  }
}

/// The pages of a published pull, each as upstream answered it last: in this sync, or in an interrupted one.
struct ComposedPull: CustomStringConvertible {
  struct Fault: Error, CustomStringConvertible {
    var description: String
  }

  /// The start of an incremental pull.
  let start: Int?
  private let pages: [ChangingUpstream.Answer]
  /// The last occurrence of each record in a whole pull, the highest in an incremental one.
  private(set) var records: [Int: ChangingUpstream.Version] = [:]
  private var hasRepeats = false
  /// True if a page contradicts the first one. The mark stays, so that the next pull receives what this one lacks.
  private(set) var hasDrifted = false
  private let dates: [Int]

  init(_ upstream: ChangingUpstream, isIncremental: Bool) throws(Fault) {
    let log = upstream.log
    if isIncremental, log.start == nil { throw Fault(description: "an incremental pull without a request") }
    start = isIncremental ? log.start : nil
    var pages: [ChangingUpstream.Answer] = []
    repeat {
      let number = pages.count + 1
      let answers = log.pages[start]?[number] ?? []
      let isNew = Self.isFirstNew(pages.first, log.pages[start]?[1] ?? [])
      guard
        let page = answers.last(where: { answer in
          answer.sync == log.sync
            || (Self.isKept(answer, number, upstream, log.clock) && !(isIncremental && upstream.hasNumbers && isNew))
        })
      else { throw Fault(description: "page \(number) was not asked for in time") }
      pages.append(page)
    } while pages.count < (upstream.hasNumbers ? pages.first : pages.last)?.pages ?? 0
    // A page with another number of pages is drift, and is left out.
    let total = pages[0].pages
    if isIncremental, upstream.hasNumbers, let other = pages.firstIndex(where: { $0.pages != total }) {
      pages.removeSubrange(other...)
      hasDrifted = true
    }
    self.pages = pages
    dates = pages.map { upstream.date(at: $0.time) }
    for (id, version) in pages.flatMap(\.records) {
      if let other = records[id] {
        hasRepeats = true
        if isIncremental, other.stamp > version.stamp { continue }
        // An occurrence that `where` skips does not count beside another one.
        if !isIncremental, version.isClosed { continue }
      }
      records[id] = version
    }
  }

  /// True if a page of an earlier sync may be used again without a request.
  private static func isKept(
    _ page: ChangingUpstream.Answer, _ number: Int, _ upstream: ChangingUpstream, _ clock: Date
  ) -> Bool {
    if upstream.hasTags || (upstream.hasNumbers && number == 1) { return false }
    return (0..<900).contains(clock.timeIntervalSince(page.receivedAt))
  }

  /// True if the first page is not the one that the earlier syncs received last.
  private static func isFirstNew(_ first: ChangingUpstream.Answer?, _ answers: [ChangingUpstream.Answer]) -> Bool {
    guard let first, let known = answers.last(where: { $0.sync < first.sync }) else { return true }
    return known.pages != first.pages || known.records.map(\.version) != first.records.map(\.version)
  }

  /// Upstream's time of the oldest page.
  var oldest: Double { pages.map(\.time).min() ?? 0 }

  /// The highest stamp, but at most the oldest `Date`. Only a whole pull may lower it. A
  /// pull in which a key occurs twice leaves it.
  func mark(after old: Int?) -> Int? {
    guard let highest = pages.flatMap(\.records).map(\.version.stamp).max(), let date = dates.min() else { return old }
    let mark = min(highest, date)
    guard start != nil, let old else { return mark }
    return hasRepeats || hasDrifted ? old : max(old, mark)
  }

  var description: String { "the \(pages.count) pages \(start.map { "since \($0)" } ?? "of a whole pull")" }
}
