/// `[auth.jwt]`: the assertion (RFC 7519) that rosterd signs for a login, or sends as its token.
package struct AssertionTemplate: Sendable, Equatable {
  /// The signature.
  package var algorithm = SignatureAlgorithm.rs256
  /// Template of the header, without `alg`.
  package var headers = JSONValue.object([])
  /// Template of the claims; without members there is no assertion.
  package var claims = JSONValue.object([])

  /// An assertion without claims, unless they are given.
  package init(
    _ algorithm: SignatureAlgorithm = .rs256, headers: JSONValue = .object([]), claims: JSONValue = .object([])
  ) {
    self.algorithm = algorithm
    self.headers = headers
    self.claims = claims
  }

  /// True if it has claims.
  package var isSet: Bool { claims != .object([]) }

  /// The credentials that both templates contain.
  package var credentials: Set<CredentialPlaceholder> {
    Set(placeholders.compactMap { if case .credential(let credential) = $0 { credential } else { nil } })
  }

  /// True if a template contains the digest of a certificate.
  package var needsCertificate: Bool { placeholders.contains(.certificateDigest) }

  /// The texts in braces that are not placeholders.
  package var unknownPlaceholders: [(member: String, text: String)] {
    [("headers", headers), ("claims", claims)].flatMap { member, template in
      template.texts.flatMap { AssertionText($0).unknown }.map { (member, $0) }
    }
  }

  private var placeholders: [AssertionPlaceholder] {
    (headers.texts + claims.texts).flatMap { AssertionText($0).placeholders }
  }

  /// Seconds from the time of the signature to the time of a claim; nil if the claim has no such time.
  package func offset(of claim: String) -> Int? {
    guard case .time(let offset)? = claims[claim]?.text.flatMap({ AssertionText($0).only }) else { return nil }
    return offset
  }
}

/// A text in braces that is replaced when an assertion is signed.
package enum AssertionPlaceholder: Sendable, Equatable {
  /// A credential file, but no token.
  case credential(CredentialPlaceholder)
  /// `{now}`, `{now+10m}`, `{now-1m}`: seconds since 1970, a number if it is the whole text.
  case time(offset: Int)
  /// `{uuid}`: another one for each assertion.
  case uuid
  /// `{public_key_sha256}`: SHA-256 of the public key (SubjectPublicKeyInfo), in Base64.
  case publicKeyDigest
  /// `{x5t#S256}`: SHA-256 of the certificate beside the key, in URL-safe Base64 (RFC 7515 §4.1.8).
  case certificateDigest

  /// The placeholders in words.
  package static let allowed =
    "{now} {now+10m} {now-1m} {uuid} {client_id} {client_secret} {username} {password} {public_key_sha256} {x5t#S256}"

  /// - Parameter name: the text between the braces.
  init?(_ name: Substring) {
    switch name {
    case "uuid": self = .uuid
    case "public_key_sha256": self = .publicKeyDigest
    case "x5t#S256": self = .certificateDigest
    default:
      if let offset = Self.offset(name) {
        self = .time(offset: offset)
        return
      }
      guard let credential = CredentialPlaceholder(rawValue: String(name)) else { return nil }
      switch credential {
      case .username, .password, .clientID, .clientSecret: self = .credential(credential)
      case .refreshToken, .accessToken, .jwt, .basic: return nil
      }
    }
  }

  private static func offset(_ name: Substring) -> Int? {
    guard name.hasPrefix("now") else { return nil }
    let rest = name.dropFirst("now".count)
    guard let sign = rest.first else { return 0 }
    guard sign == "+" || sign == "-", let duration = Duration(text: rest.dropFirst()) else { return nil }
    let seconds = Int(duration.seconds.rounded())
    return sign == "-" ? -seconds : seconds
  }
}

/// A text of a template, taken apart.
struct AssertionText {
  private enum Piece {
    case text(Substring)
    case placeholder(AssertionPlaceholder)
    case unknown(Substring)
  }

  private var pieces: [Piece] = []

  init(_ text: String) {
    var rest = text[...]
    while let found = rest.firstMatch(of: /\{([A-Za-z_][^{}]*)\}/) {
      pieces.append(.text(rest[..<found.range.lowerBound]))
      pieces.append(AssertionPlaceholder(found.1).map { .placeholder($0) } ?? .unknown(found.0))
      rest = rest[found.range.upperBound...]
    }
    pieces.append(.text(rest))
    pieces.removeAll { if case .text(let text) = $0 { text.isEmpty } else { false } }
  }

  var placeholders: [AssertionPlaceholder] {
    pieces.compactMap { if case .placeholder(let placeholder) = $0 { placeholder } else { nil } }
  }

  var unknown: [String] {
    pieces.compactMap { if case .unknown(let text) = $0 { String(text) } else { nil } }
  }

  /// The placeholder that is the whole text; nil if there is other text.
  var only: AssertionPlaceholder? { pieces.count == 1 ? placeholders.first : nil }

  func filled(_ value: (AssertionPlaceholder) -> JSONValue) -> JSONValue {
    if let only { return value(only) }
    let texts = pieces.map { piece in
      switch piece {
      case .text(let text), .unknown(let text): String(text)
      case .placeholder(let placeholder): value(placeholder).queryText
      }
    }
    return .text(texts.joined())
  }
}

extension JSONValue {
  /// The value with each placeholder of an assertion replaced.
  package func filledForAssertion(_ value: (AssertionPlaceholder) -> JSONValue) -> JSONValue {
    replacingTexts { AssertionText($0).filled(value) }
  }
}

/// `auth.jwt.alg`: how an assertion is signed (RFC 7518 §3.1, RFC 8037 §3.1).
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
  case rs256 = "RS256"
  case rs384 = "RS384"
  case ps256 = "PS256"
  case es256 = "ES256"
  case es384 = "ES384"
  case edDSA = "EdDSA"
  case hs256 = "HS256"

  /// True if both sides have the same key, which is the credential `hmac_key`. The other ones need a `private_key`.
  package var isSymmetric: Bool { self == .hs256 }
}
