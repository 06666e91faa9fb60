/// An entry of `auth.send`: the place of a secret in a request, and the template of the value there. The requests of
/// `exchange` have such a place, too.
package struct TokenPlace: Sendable, Hashable {
  /// The part of the request that carries the value.
  package enum Carrier: Sendable {
    case header
    /// A query parameter.
    case parameter
    /// A member of the JSON body of a POST. A GET does not carry it.
    case body
  }

  /// The part of the request.
  package var carrier: Carrier
  /// Name of the header or the parameter, not encoded; for a body the JSON Pointer.
  package var name: String
  /// Template of the value, not encoded.
  package var value: String

  /// The token alone is the value by default.
  package init(_ carrier: Carrier, name: String, before: String = "", after: String = "") {
    self.carrier = carrier
    self.name = name
    value = before + Self.placeholder + after
  }

  /// Reads `NAME: VALUE`, `?NAME=VALUE` or `/POINTER=VALUE`; nil if the text has another form. White space around a
  /// header's value is not part of it (RFC 9110 §5.5).
  package init?(_ text: String) {
    carrier = text.hasPrefix("?") ? .parameter : text.hasPrefix("/") ? .body : .header
    guard let end = text.firstIndex(of: carrier == .header ? ":" : "=") else { return nil }
    let rest = text[text.index(after: end)...]
    switch carrier {
    case .header:
      name = String(text[..<end])
      value = rest.trimmed
    case .parameter: (name, value) = (String(text[..<end].dropFirst()), String(rest))
    case .body:
      guard JSONPointer(String(text[..<end])) != nil else { return nil }
      (name, value) = (String(text[..<end]), String(rest))
    }
  }

  /// The text from which `init(_:)` makes the same place.
  package var text: String {
    switch carrier {
    case .header: "\(name): \(value)"
    case .parameter: "?\(name)=\(value)"
    case .body: "\(name)=\(value)"
    }
  }

  /// The part before the token, and the part after it; nil if the value does not contain the token.
  package var partsAroundToken: (before: Substring, after: Substring)? {
    value.firstRange(of: Self.placeholder).map { (value[..<$0.lowerBound], value[$0.upperBound...]) }
  }

  /// The placeholder of the token in `auth.send`.
  package static let placeholder = CredentialPlaceholder.accessToken.text

  /// The Bearer scheme (RFC 6750 §2.1).
  package static let bearer = TokenPlace(.header, name: "Authorization", before: "Bearer ")
  /// The Basic scheme (RFC 7617): the token is the encoded user and password.
  package static let basic = TokenPlace(.header, name: "Authorization", before: "Basic ")
}

extension TokenPlace {
  /// The placeholders of the value.
  package var placeholders: Set<CredentialPlaceholder> { value.placeholders }
}

extension [TokenPlace] {
  /// The placeholders of all values.
  package var placeholders: Set<CredentialPlaceholder> { Set(flatMap(\.placeholders)) }
}
