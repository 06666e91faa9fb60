/// `auth.send`: where a request carries the access token, and what stands around it there.
package struct TokenPlace: Sendable, Hashable {
  /// What of a request it is in.
  package enum Carrier: Sendable {
    case header
    /// A query parameter.
    case parameter
  }

  /// Header or query.
  package var carrier: Carrier
  /// Of the header or the parameter, not encoded.
  package var name: String
  /// What the value has before the token.
  package var before: String
  /// What the value has behind it.
  package var after: String

  /// `NAME: …{access_token}…`, or `?NAME=…{access_token}…`. nil: neither, or the token has no place, or more than one.
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
    // Space around a header's value is not part of it (RFC 9110 §5.5).
    before = String(before.drop(while: Self.isSpace))
    after = String(after.reversed().drop(while: Self.isSpace).reversed())
  }

  /// The token alone is the value, unless given.
  package init(_ carrier: Carrier, _ name: String, before: String = "", after: String = "") {
    self.carrier = carrier
    self.name = name
    self.before = before
    self.after = after
  }

  /// What `init(_:)` takes again.
  package var text: String {
    let value = before + Self.placeholder + after
    return switch carrier {
    case .header: "\(name): \(value)"
    case .parameter: "?\(name)=\(value)"
    }
  }

  /// Of the header or the parameter, not encoded.
  package func value(_ token: String) -> String { before + token + after }

  /// What stands for the token in `auth.send`.
  package static let placeholder = "{access_token}"

  /// RFC 6750 §2.1.
  package static let bearer = TokenPlace(.header, "Authorization", before: "Bearer ")
  /// RFC 7617: user and password, encoded, are the token.
  package static let basic = TokenPlace(.header, "Authorization", before: "Basic ")

  private static func isSpace(_ character: Character) -> Bool { character == " " || character == "\t" }
}
