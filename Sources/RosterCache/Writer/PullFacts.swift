package import FoundationEssentials
internal import RosterCore

/// The state of the current pull, apart from its tables.
struct PullFacts {
  /// `Cache.generation` when the sync began.
  var generation = 0
  /// Times without requests since the oldest of these pages.
  var pauses = RequestPauses()
  /// Resources whose published pages are ignored in this pull, so that each is transferred whole.
  var forgotten: Set<String> = []
  /// Resources whose validators lied in a sync that was not published yet. They outlive the sync.
  var lying: Set<String> = []
  /// Resources whose validators were distrusted when the sync began.
  var distrusted: Set<String> = []
  /// True if everything is transferred again.
  var isFresh = false
  /// Resources for which only the changed records are pulled.
  var incremental: Set<String> = []
  /// The questions of each resource. An entry is added when it is first needed.
  var questions: [String: ListQuestions] = [:]
  /// Published pages with a record that an incremental pull has written or removed since, by the id of the
  /// list. A list without such a page, or one that was not searched yet, has no entry.
  var expired: [Int64: Set<Int64>] = [:]
  /// Published pages that belong to this pull. The number may be too high, never too low.
  var confirmed = 0
  /// The results of `compare`, by resource. A resource has none as soon as another page of it is pulled.
  var compared: [String: ResourceComparison] = [:]
  /// Child lists whose published pages are ignored, as in `forgotten`.
  var forgottenLists: Set<Int64> = []

  /// True if validators of this resource are neither sent nor stored.
  func ignoresValidators(of resource: String) -> Bool {
    !isFresh && (distrusted.contains(resource) || lying.contains(resource))
  }
}

/// The upstream and the definitions by which pages were pulled. Other ones request other pages, and read them
/// differently.
struct PullKey {
  var upstream: String
  var resources: [Resource]

  /// Each part is one line: neither an address nor the JSON of a definition contains a line end.
  var text: String { ([upstream] + resources.map { "\($0.name) \($0.pulledDefinition)" }).joined(separator: "\n") }

  init(_ upstream: String, resources: [Resource]) {
    self.upstream = upstream
    self.resources = resources
  }

  /// nil if the text is not a source.
  init?(_ text: String) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    upstream = String(lines[0])
    resources = lines.dropFirst().compactMap { line in
      let parts = line.split(separator: " ", maxSplits: 1)
      return parts.count == 2 ? Resource(name: String(parts[0]), pulledBy: String(parts[1])) : nil
    }
    guard resources.count == lines.count - 1 else { return nil }
    // The definition of a child does not have the windows of its parent.
    for index in resources.indices {
      let parent = resources.first { $0.name == resources[index].each?.parent }
      resources[index].each?.windows = parent?.windows
    }
  }
}

/// Times in which no request was allowed: `limit.budget` was used up, or upstream had sent a Retry-After. The age at
/// which a kept page or list is used again does not include them.
package struct RequestPauses: Sendable, Equatable {
  /// The pauses in the order of time.
  private var all: [Range<Date>] = []
  /// Addresses of the questions of `by_key` whose answers ended a sync with a pause.
  package private(set) var questions: Set<String> = []

  /// No pause.
  package init() {}

  /// Adds a pause. Only its part after the earlier ones counts. Returns false if neither that part nor the question is
  /// new.
  /// - Parameter question: address of the question of `by_key` that brought the pause; nil if another answer did.
  @discardableResult
  package mutating func add(from start: Date, until end: Date, by question: String? = nil) -> Bool {
    let isNew = question.map { questions.insert($0).inserted } ?? false
    let start = max(start, all.last?.upperBound ?? start)
    guard start < end else { return isNew }
    all.append(start..<end)
    return true
  }

  /// True if no request was allowed for a time after this one.
  package func hasPause(after date: Date) -> Bool { all.last.map { date < $0.upperBound } ?? false }

  /// The time at which a page was received that reaches this age now. The pauses do not count.
  package func earliest(age: Duration, at now: Date) -> Date {
    var (left, end) = (age.seconds, now)
    for pause in all.reversed() {
      let allowed = end.timeIntervalSince(min(pause.upperBound, end))
      if left <= allowed { break }
      left -= allowed
      end = min(end, pause.lowerBound)
    }
    return end.addingTimeInterval(-left)
  }
}
