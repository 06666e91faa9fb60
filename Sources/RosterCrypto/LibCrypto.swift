import CCrypto

/// SHA-256 (FIPS 180-4): 32 bytes.
package func sha256(_ bytes: [UInt8]) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
  // It fails only if the configuration of libcrypto on this machine forbids SHA-256, which no HTTPS can do without.
  precondition(SHA256(bytes, bytes.count, &digest) != nil, "libcrypto refuses SHA-256: see openssl.cnf")
  return digest
}
