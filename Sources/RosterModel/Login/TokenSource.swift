/// `auth.answer.access`: the place of the access token in an answer (T13.8).
package enum TokenSource: Sendable, Equatable {
  /// A member of the body, which is JSON or a form.
  case member(JSONPointer)
  /// A header of the answer: `header:X-Subject-Token`.
  case header(String)
  /// A cookie that the answer sets: `cookie:session`.
  case cookie(String)
  /// The body is a JSON string, which is the token: `body`.
  case body

  /// nil if the text has none of these forms.
  package init?(_ text: String) {
    if text == Self.wholeBody {
      self = .body
    } else if text.hasPrefix(Self.headerPrefix) {
      let name = String(text.dropFirst(Self.headerPrefix.count))
      guard name.isHTTPToken else { return nil }
      self = .header(name)
    } else if text.hasPrefix(Self.cookiePrefix) {
      let name = String(text.dropFirst(Self.cookiePrefix.count))
      guard name.isHTTPToken else { return nil }
      self = .cookie(name)
    } else {
      guard let pointer = JSONPointer(text), !pointer.segments.isEmpty else { return nil }
      self = .member(pointer)
    }
  }

  /// The text from which `init(_:)` makes the same place.
  package var text: String {
    switch self {
    case .member(let pointer): pointer.description
    case .header(let name): Self.headerPrefix + name
    case .cookie(let name): Self.cookiePrefix + name
    case .body: Self.wholeBody
    }
  }

  private static let headerPrefix = "header:"
  private static let cookiePrefix = "cookie:"
  private static let wholeBody = "body"
}
