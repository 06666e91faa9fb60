/// The query of `GET /v1/syncs`.
package struct SyncsRequest: Sendable, Equatable {
  /// Maximum number of syncs, the latest ones.
  package var limit: Int
  /// True to add the number of records by resource.
  package var withResources: Bool

  /// Asks for the columns alone by default.
  package init(limit: Int, withResources: Bool = false) {
    self.limit = limit
    self.withResources = withResources
  }
}
