/// What a sync has pulled so far, beside what lies in tables.
struct PullState {
  /// Of the cache, when the sync began.
  var generation = 0
  /// Pages before this offset of the file were held back by the removal guard.
  var guardedBelow: Int64 = 0
  /// The last sync that has appended pages to the file.
  var sync: Int64 = 0
  /// Resources whose published pages are not to be asked for conditionally.
  var distrusted: Set<String> = []
  /// Published pages that this pull is made of; never too few.
  var confirmed = 0
  /// What `compare` found; nil as soon as something is pulled.
  var compared: [ResourceComparison]?
}
