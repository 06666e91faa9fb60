internal import RosterModel

/// The state of the current pull, apart from its tables.
struct PullFacts {
  /// `Cache.generation` when the sync began.
  var generation = 0
  /// Times without requests since the oldest of these pages.
  var pauses = RequestPauses()
  /// Resources whose published pages are ignored in this pull, so that each is transferred whole.
  var forgotten: Set<String> = []
  /// Resources whose validators lied in a sync that was not published yet (P15). They outlive the sync.
  var lying: Set<String> = []
  /// Resources whose validators were distrusted when the sync began.
  var distrusted: Set<String> = []
  /// True if everything is transferred again (L1).
  var isFresh = false
  /// Resources for which only the changed records are pulled.
  var incremental: Set<String> = []
  /// The questions of each resource. An entry is added when it is first needed.
  var questions: [String: ListQuestions] = [:]
  /// Published pages with a record that an incremental pull has written or removed since (I11.2), by the id of the
  /// list. A list without such a page, or one that was not searched yet, has no entry.
  var expired: [Int64: Set<Int64>] = [:]
  /// Published pages that belong to this pull. The number may be too high, never too low.
  var confirmed = 0
  /// The results of `compare`, by resource. A resource has none as soon as another page of it is pulled.
  var compared: [String: ResourceComparison] = [:]
  /// Child lists whose published pages are ignored, as in `forgotten`.
  var forgottenLists: Set<Int64> = []

  /// True if validators of this resource are neither sent nor stored (P15.6).
  func ignoresValidators(of resource: String) -> Bool {
    !isFresh && (distrusted.contains(resource) || lying.contains(resource))
  }
}
