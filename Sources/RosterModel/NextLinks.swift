/// `upstream.links`: what becomes of a next page's address at another origin than base_url's.
package enum NextLinks: String, Sendable, CaseIterable {
  /// The sync fails (65).
  case sameOrigin = "same_origin"
  /// Its path and query are asked of base_url's origin.
  case rebase
}
