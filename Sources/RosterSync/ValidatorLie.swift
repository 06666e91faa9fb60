import RosterCore

/// A validator that upstream gave again although the records of its page had changed. It ends its list's pull.
struct ValidatorLie: Error, Sendable, Equatable {
  enum Header: String, Sendable {
    case etag = "ETag"
    case lastModified = "Last-Modified"

    /// The reason in the event `validators.distrusted`.
    var reason: String {
      switch self {
      case .etag: "etag"
      case .lastModified: "last_modified"
      }
    }
  }

  var header: Header
  /// The page's place in its list.
  var page: Int
  var request: Request
}
