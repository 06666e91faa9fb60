/// The requests that the last pulls of a resource needed.
package struct PullCost: Sendable, Equatable {
  /// Number of requests of a whole pull; for a child, of all its lists.
  package var whole: Int
  /// Number of requests of an incremental pull; for a child, the average number for the lists of a usual sync. nil
  /// before the first one.
  package var incremental: Double?
  /// Number of lists that have a page; nil for a resource without `each`.
  package var lists: Int?

  /// Makes the cost from its numbers.
  package init(whole: Int, incremental: Double? = nil, lists: Int? = nil) {
    self.whole = whole
    self.incremental = incremental
    self.lists = lists
  }
}
