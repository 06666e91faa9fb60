/// `auth.login`, `auth.refresh` and `auth.answer`: how the flow `exchange` gets its tokens (T13).
package struct TokenExchange: Sendable, Equatable {
  /// How a request carries its body.
  package enum Format: String, Sendable, CaseIterable {
    case json, form
  }

  /// A text in braces that is replaced by a credential, a token or an assertion (T13.2).
  package enum Placeholder: String, Sendable, CaseIterable {
    case username, password
    case refreshToken = "refresh_token"
    case clientID = "client_id"
    case clientSecret = "client_secret"
    case accessToken = "access_token"
    /// An assertion that is signed for this request (`auth.jwt`).
    case jwt
    /// User and password as HTTP Basic encodes them (RFC 7617 §2).
    case basic

    /// The placeholder with its braces.
    package var text: String { "{\(rawValue)}" }
  }

  /// One of the two requests. It is not set if it has no address.
  package struct Step: Sendable, Equatable {
    /// The configured address, or the absolute one.
    package var url: String
    /// Template of the body; an empty object sends none.
    package var body: JSONValue
    /// How the body is written.
    package var format: Format
    /// Template of a header or a query parameter; nil if none is sent.
    package var send: TokenPlace?

    /// A request with neither body nor field, unless given.
    package init(url: String = "", body: JSONValue = .object([]), format: Format = .json, send: TokenPlace? = nil) {
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
  package var placeholders: Set<TokenExchange.Placeholder> { body.placeholders.union(send?.placeholders ?? []) }
}

extension TokenPlace {
  /// The placeholders of the value.
  package var placeholders: Set<TokenExchange.Placeholder> { value.placeholders }
}

extension [TokenPlace] {
  /// The placeholders of all values.
  package var placeholders: Set<TokenExchange.Placeholder> { Set(flatMap(\.placeholders)) }
}

extension JSONValue {
  /// The placeholders of all texts in it.
  package var placeholders: Set<TokenExchange.Placeholder> { Set(texts.flatMap(\.placeholders)) }
}

extension String {
  fileprivate var placeholders: Set<TokenExchange.Placeholder> {
    Set(TokenExchange.Placeholder.allCases.filter { contains($0.text) })
  }

  /// The text with each placeholder replaced by its value, once: a value that looks like a placeholder is not replaced
  /// again.
  package func filled(_ value: (TokenExchange.Placeholder) -> String) -> String {
    var filled = ""
    var rest = self[...]
    while let brace = rest.firstIndex(of: "{") {
      filled += rest[..<brace]
      rest = rest[brace...]
      if let found = TokenExchange.Placeholder.allCases.first(where: { rest.hasPrefix($0.text) }) {
        filled += value(found)
        rest = rest.dropFirst(found.text.count)
      } else {
        filled += "{"
        rest = rest.dropFirst()
      }
    }
    return filled + rest
  }
}

extension JSONValue {
  /// The same value with each placeholder in its texts replaced.
  package func filled(_ value: (TokenExchange.Placeholder) -> String) -> JSONValue {
    replacingTexts { .text($0.filled(value)) }
  }
}
