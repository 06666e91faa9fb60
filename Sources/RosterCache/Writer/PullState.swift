/// What a sync has pulled so far, beside what lies in tables.
struct PullState {
  /// Of the cache, when the sync began.
  var generation = 0
  /// Pages before this offset of the file were held back by the removal guard.
  var guardedBelow: Int64 = 0
  /// The last sync that has appended pages to the file.
  var sync: Int64 = 0
  /// Resources of whose published pages nothing is known in this pull, so that each is transferred whole.
  var forgotten: Set<String> = []
  /// Resources whose validators lied in a sync that was not published yet (P15). They outlive the sync.
  var lying: Set<String> = []
  /// Resources whose validators were distrusted when the sync began.
  var distrusted: Set<String> = []
  /// Everything is transferred again (L1).
  var isFresh = false
  /// Resources of which only the records that changed are pulled.
  var incremental: Set<String> = []
  /// Digests of the questions of `since`, by resource, as far as they were needed.
  var questions: [String: Int64] = [:]
  /// Published pages with a record that an incremental pull has written or removed since (I11.2), by resource. They are
  /// not known yet if a resource has no entry.
  var expired: [String: Set<Int64>] = [:]
  /// Published pages that this pull is made of; never too few.
  var confirmed = 0
  /// What `compare` found; nil as soon as something is pulled.
  var compared: [ResourceComparison]?

  /// True if validators of this resource are neither sent nor stored (P15.6).
  func ignoresValidators(of resource: String) -> Bool {
    !isFresh && (distrusted.contains(resource) || lying.contains(resource))
  }
}
