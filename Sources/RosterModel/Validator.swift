/// What upstream gave to ask with whether a page has changed (RFC 9110 §8.8).
package struct Validator: Sendable, Equatable {
  /// With its quotes, and `W/` where it is weak.
  package var etag: String?
  /// Only where it is at least 1 s older than the answer's Date (RFC 9110 §8.8.2.2).
  package var lastModified: String?

  /// None, unless given.
  package init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// Whether there is nothing to ask with.
  package var isEmpty: Bool { etag == nil && lastModified == nil }
}
