import CCrypto
package import RosterCore

/// SHA-256 (FIPS 180-4): 32 bytes.
package func sha256(_ bytes: [UInt8]) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
  // It fails only if the configuration of libcrypto on this machine forbids SHA-256, which no HTTPS can do without.
  precondition(SHA256(bytes, bytes.count, &digest) != nil, "libcrypto refuses SHA-256: see openssl.cnf")
  return digest
}

/// HMAC with SHA-256 (RFC 2104): 32 bytes, or nil if libcrypto refuses it.
package func hmacSHA256(_ message: [UInt8], key: [UInt8]) -> [UInt8]? {
  var code = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
  let made = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &code, nil)
  return made == nil ? nil : code
}

/// A private key in libcrypto's memory, which is wiped at the end of its use.
package struct PrivateKey: ~Copyable {
  private let key: OpaquePointer

  /// Reads the first private key of a PEM text: PKCS#8, PKCS#1 or SEC1. nil if it has no readable key.
  /// - Parameter passphrase: of an encrypted key; it is ignored by another one.
  package init?(pem: String, passphrase: String) {
    // With an argument and without a function, libcrypto takes the argument as the passphrase, and asks no terminal.
    let key = pem.withBuffer { buffer in
      passphrase.withCString { PEM_read_bio_PrivateKey(buffer, nil, nil, UnsafeMutableRawPointer(mutating: $0)) }
    }
    ERR_clear_error()
    guard let key else { return nil }
    self.key = key
  }

  deinit { EVP_PKEY_free(key) }

  /// The kind of key, as people name it.
  package var kind: Kind {
    switch EVP_PKEY_get_base_id(key) {
    case EVP_PKEY_RSA: .rsa(bits: Int(EVP_PKEY_get_bits(key)))
    case EVP_PKEY_RSA_PSS: .rsaPSS(bits: Int(EVP_PKEY_get_bits(key)))
    case EVP_PKEY_EC: .curve(curve)
    case EVP_PKEY_ED25519: .edwards("Ed25519")
    case EVP_PKEY_ED448: .edwards("Ed448")
    default: .other(EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown")
    }
  }

  /// The kinds of keys that algorithms distinguish.
  package enum Kind: Sendable, Equatable {
    case rsa(bits: Int)
    /// A key for PSS alone (RFC 4055 §1.2).
    case rsaPSS(bits: Int)
    /// A curve by its name in libcrypto, such as `prime256v1`.
    case curve(String)
    case edwards(String)
    case other(String)
  }

  private var curve: String {
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return "an unnamed curve" }
    return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// SubjectPublicKeyInfo (RFC 5280 §4.1) of the public key, in DER.
  package var publicKeyInfo: [UInt8] { der { i2d_PUBKEY(key, $0) } }

  /// SHA-256 of the first certificate in a PEM text, in DER. nil if the text has no certificate, or that of
  /// another key.
  package func certificateDigest(pem: String) -> [UInt8]? {
    defer { ERR_clear_error() }
    guard let certificate = pem.withBuffer({ PEM_read_bio_X509($0, nil, nil, nil) }) else { return nil }
    defer { X509_free(certificate) }
    guard X509_check_private_key(certificate, key) == 1 else { return nil }
    return sha256(der { i2d_X509(certificate, $0) })
  }

  private func der(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
    let length = Int(write(nil))
    guard length > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
      var end = bytes.baseAddress
      count = max(0, Int(write(&end)))
    }
  }

  /// The signature as JWS has it (RFC 7518 §3, RFC 8037 §3.1). nil if libcrypto refuses it, as with a key of another
  /// kind.
  package func signature(of message: [UInt8], algorithm: SignatureAlgorithm) -> [UInt8]? {
    defer { ERR_clear_error() }
    switch algorithm {
    case .rs256: return sign(message, digest: EVP_sha256())
    case .rs384: return sign(message, digest: EVP_sha384())
    case .ps256: return sign(message, digest: EVP_sha256(), isPSS: true)
    case .es256: return sign(message, digest: EVP_sha256()).flatMap { Self.joined($0, size: 32) }
    case .es384: return sign(message, digest: EVP_sha384()).flatMap { Self.joined($0, size: 48) }
    case .edDSA: return sign(message, digest: nil)
    case .hs256: return nil
    }
  }

  private func sign(_ message: [UInt8], digest: OpaquePointer?, isPSS: Bool = false) -> [UInt8]? {
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    var parameters: OpaquePointer?
    guard EVP_DigestSignInit(context, &parameters, digest, nil, key) == 1 else { return nil }
    if isPSS {
      // The salt is as long as the digest (RFC 7518 §3.5).
      guard EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
        EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
      else { return nil }
    }
    var length = 0
    guard EVP_DigestSign(context, nil, &length, message, message.count) == 1 else { return nil }
    var signature = [UInt8](repeating: 0, count: length)
    guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { return nil }
    return Array(signature.prefix(length))
  }

  /// The two numbers of an ECDSA signature in DER, each of `size` bytes (RFC 7518 §3.4).
  private static func joined(_ signature: [UInt8], size: Int) -> [UInt8]? {
    let numbers = signature.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      return d2i_ECDSA_SIG(nil, &start, bytes.count)
    }
    guard let numbers else { return nil }
    defer { ECDSA_SIG_free(numbers) }
    var joined = [UInt8](repeating: 0, count: 2 * size)
    let isWhole = joined.withUnsafeMutableBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return false }
      return BN_bn2binpad(ECDSA_SIG_get0_r(numbers), base, Int32(size)) == size
        && BN_bn2binpad(ECDSA_SIG_get0_s(numbers), base + size, Int32(size)) == size
    }
    return isWhole ? joined : nil
  }
}

extension String {
  /// Calls `body` with the text as an input of libcrypto.
  fileprivate func withBuffer<Result>(_ body: (OpaquePointer) -> Result?) -> Result? {
    Array(utf8).withUnsafeBytes { bytes in
      guard let buffer = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
      defer { BIO_free(buffer) }
      return body(buffer)
    }
  }
}
