/// `auth.login`, `auth.refresh` and `auth.answer`: how the flow `exchange` gets its tokens.
package struct TokenExchange: Sendable, Equatable {
  /// One of the two requests. It is not set if it has no address.
  package struct Step: Sendable, Equatable {
    /// The configured address, or the absolute one.
    package var url: String
    /// Template of the body; an empty object sends none.
    package var body: JSONValue
    /// How the body is written.
    package var format: BodyFormat
    /// Template of a header or a query parameter; nil if none is sent.
    package var send: TokenPlace?

    /// A request with neither body nor field, unless given.
    package init(url: String = "", body: JSONValue = .object([]), format: BodyFormat = .json, send: TokenPlace? = nil) {
      self.url = url
      self.body = body
      self.format = format
      self.send = send
    }
  }

  /// Places of an answer.
  package struct Answer: Sendable, Equatable {
    /// The access token; nil if it is not set.
    package var access: TokenSource?
    /// The refresh token; nil if no answer has one.
    package var refresh: JSONPointer?
    /// Seconds from the answer; nil if it is not set.
    package var expiresIn: JSONPointer?
    /// Milliseconds from the answer; nil if it is not set.
    package var expiresInMilliseconds: JSONPointer?
    /// A time; nil if it is not set.
    package var expiresAt: JSONPointer?

    /// An answer without any place, unless it is given.
    package init(
      access: TokenSource? = nil, refresh: JSONPointer? = nil, expiresIn: JSONPointer? = nil,
      expiresInMilliseconds: JSONPointer? = nil, expiresAt: JSONPointer? = nil
    ) {
      self.access = access
      self.refresh = refresh
      self.expiresIn = expiresIn
      self.expiresInMilliseconds = expiresInMilliseconds
      self.expiresAt = expiresAt
    }
  }

  /// `auth.login`; nil if it is not set.
  package var login: Step?
  /// `auth.refresh`; nil if it is not set.
  package var refresh: Step?
  /// `auth.answer`
  package var answer: Answer

  /// One of the two requests may be missing.
  package init(login: Step? = nil, refresh: Step? = nil, answer: Answer) {
    self.login = login
    self.refresh = refresh
    self.answer = answer
  }
}

extension TokenExchange.Step {
  /// The placeholders that body and field contain.
  package var placeholders: Set<CredentialPlaceholder> { body.placeholders.union(send?.placeholders ?? []) }
}

/// `auth.answer.access`: the place of the access token in an answer.
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

/// `auth.client`: how a token request of OAuth 2 identifies a client that has a secret.
package enum ClientForm: String, Sendable, CaseIterable {
  /// HTTP Basic, with name and secret form-encoded (RFC 6749 §2.3.1).
  case basic
  /// `client_id` and `client_secret` in the form.
  case body
  /// HTTP Basic, with name and secret not encoded, as some servers expect it.
  case basicRaw = "basic_raw"
}
