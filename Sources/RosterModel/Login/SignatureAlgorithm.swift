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
