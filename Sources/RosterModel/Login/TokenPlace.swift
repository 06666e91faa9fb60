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
}
