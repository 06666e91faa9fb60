/// The headers that upstream sent for conditional requests (RFC 9110 §8.8).
package struct Validator: Sendable, Equatable {
  /// The entity tag with its quotes, and with `W/` if it is weak.
  package var etag: String?
  /// Last-Modified, if it is at least 1 s older than the answer's Date (RFC 9110 §8.8.2.2); else nil.
  package var lastModified: String?

  /// No validator by default.
  package init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// True if no conditional request is possible.
  package var isEmpty: Bool { etag == nil && lastModified == nil }
}
