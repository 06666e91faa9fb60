/// The requests that the last pulls of a resource needed.
package struct PullCost: Sendable, Equatable {
  /// Number of requests of a whole pull.
  package var whole: Int
  /// Number of requests of an incremental pull; nil before the first one.
  package var incremental: Int?

  /// Makes the cost from its numbers.
  package init(whole: Int, incremental: Int? = nil) {
    self.whole = whole
    self.incremental = incremental
  }
}
