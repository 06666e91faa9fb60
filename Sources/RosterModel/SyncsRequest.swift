/// What `GET /v1/syncs` asks for.
package struct SyncsRequest: Sendable, Equatable {
  /// How many at most, the latest.
  package var limit: Int
  /// Whether each tells its records by resource too.
  package var withResources: Bool

  /// Their columns alone, unless asked otherwise.
  package init(limit: Int, withResources: Bool = false) {
    self.limit = limit
    self.withResources = withResources
  }
}
