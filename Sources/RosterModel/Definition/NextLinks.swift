/// `upstream.links`: the treatment of a next-page address whose origin differs from base_url's.
package enum NextLinks: String, Sendable, CaseIterable {
  /// The sync fails (65).
  case sameOrigin = "same_origin"
  /// The path and query are requested from base_url's origin.
  case rebase
}
