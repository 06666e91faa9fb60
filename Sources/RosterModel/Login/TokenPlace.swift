/// `auth.send`: the place of the access token in a request, and the text around it.
package struct TokenPlace: Sendable, Hashable {
  /// The part of the request that carries the token.
  package enum Carrier: Sendable {
    case header
    /// A query parameter.
    case parameter
  }

  /// Header or query.
  package var carrier: Carrier
  /// Name of the header or the parameter, not encoded.
  package var name: String
  /// The part of the value before the token.
  package var before: String
  /// The part of the value after the token.
  package var after: String

  /// Reads `NAME: …{access_token}…`, or `?NAME=…{access_token}…`. nil if the text has neither form, or the token occurs
  /// more than once.
  package init?(_ text: String) {
    let isParameter = text.hasPrefix("?")
    guard let end = text.firstIndex(of: isParameter ? "=" : ":") else { return nil }
    let value = text[text.index(after: end)...]
    guard let token = value.firstRange(of: Self.placeholder), !value[token.upperBound...].contains(Self.placeholder)
    else { return nil }
    carrier = isParameter ? .parameter : .header
    name = isParameter ? String(text[..<end].dropFirst()) : String(text[..<end])
    before = String(value[..<token.lowerBound])
    after = String(value[token.upperBound...])
    guard !isParameter else { return }
    // White space around a header's value is not part of it (RFC 9110 §5.5).
    before = String(before.drop(while: Self.isSpace))
    after = String(after.reversed().drop(while: Self.isSpace).reversed())
  }

  /// The token alone is the value by default.
  package init(_ carrier: Carrier, name: String, before: String = "", after: String = "") {
    self.carrier = carrier
    self.name = name
    self.before = before
    self.after = after
  }

  /// The text from which `init(_:)` makes the same place.
  package var text: String {
    let value = before + Self.placeholder + after
    return switch carrier {
    case .header: "\(name): \(value)"
    case .parameter: "?\(name)=\(value)"
    }
  }

  /// Value of the header or the parameter, not encoded.
  package func value(_ token: String) -> String { before + token + after }

  /// The placeholder of the token in `auth.send`.
  package static let placeholder = "{access_token}"

  /// The Bearer scheme (RFC 6750 §2.1).
  package static let bearer = TokenPlace(.header, name: "Authorization", before: "Bearer ")
  /// The Basic scheme (RFC 7617): the token is the encoded user and password.
  package static let basic = TokenPlace(.header, name: "Authorization", before: "Basic ")

  private static func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
}
