import RosterCore

/// The key that signs assertions, read from the credential files.
struct AssertionKey: ~Copyable {
  /// The file that has the key.
  let file: CredentialFile
  /// SHA-256 of the public key; empty for `hmac_key`.
  let publicKeyDigest: [UInt8]
  /// SHA-256 of the certificate in the same file; empty if no template contains it.
  let certificateDigest: [UInt8]
  private let material: Material

  private enum Material: ~Copyable {
    case key(PrivateKey)
    case shared([UInt8])
  }

  /// The key file exists.
  init(_ template: AssertionTemplate, credentials: Credentials) throws(KeyFault) {
    file = template.keyFile
    let text = credentials[file]?.reveal() ?? ""
    if template.algorithm.isSymmetric {
      guard !text.contains("-----BEGIN ") else {
        throw KeyFault(
          file, cause: "it is a PEM text, and HS256 takes a secret that both sides share",
          cure: "for a private key set auth.jwt.alg to the algorithm that upstream expects")
      }
      (publicKeyDigest, certificateDigest) = ([], [])
      material = .shared(Array(text.utf8))
      return
    }
    guard let key = PrivateKey(pem: text, passphrase: credentials.privateKeyPassphrase?.reveal() ?? "") else {
      throw KeyFault(unreadable: text, hasPassphrase: credentials.privateKeyPassphrase != nil)
    }
    if let cause = key.kind.mismatch(with: template.algorithm) { throw cause }
    var digest: [UInt8] = []
    if template.needsCertificate {
      guard let found = key.certificateDigest(pem: text) else {
        throw KeyFault(
          file, cause: "it has no certificate of its key, and {x5t#S256} is the digest of that certificate",
          cure: "append the certificate in PEM to it")
      }
      digest = found
    }
    certificateDigest = digest
    publicKeyDigest = sha256(key.publicKeyInfo)
    material = .key(key)
  }

  /// nil if libcrypto refuses it.
  func signature(of message: [UInt8], algorithm: SignatureAlgorithm) -> [UInt8]? {
    switch material {
    case .key(let key): key.signature(of: message, algorithm: algorithm)
    case .shared(let secret): hmacSHA256(message, key: secret)
    }
  }
}

/// Why a key cannot sign. It has no part of the file.
struct KeyFault: Error, Equatable {
  let file: CredentialFile
  /// A clause about the file.
  let cause: String
  /// An imperative beside the usual one; nil if that is enough.
  let cure: String?

  init(_ file: CredentialFile, cause: String, cure: String? = nil) {
    self.file = file
    self.cause = cause
    self.cure = cure
  }

  /// Names the kind of a text that libcrypto cannot read as a private key.
  init(unreadable text: String, hasPassphrase: Bool) {
    let labels = text.matches(of: /-----BEGIN ([A-Z0-9 ]+)-----/).map { String($0.1) }
    let isEncrypted = labels.contains("ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
    let (cause, cure): (String, String?) =
      if text.first(where: { !$0.isWhitespace }) == "{" {
        ("it is JSON", "write only its private key there: jq -r .private_key FILE")
      } else if text.contains("-----\\n") {
        ("its line ends are written as \\n", "write them as line ends: printf %b \"$(cat FILE)\"")
      } else if labels.contains("OPENSSH PRIVATE KEY") {
        ("it is a key in OpenSSH's own format", "convert it: ssh-keygen -p -m PKCS8 -f FILE")
      } else if isEncrypted && !hasPassphrase {
        (
          "it is encrypted, and the credential private_key_passphrase does not exist",
          "write its passphrase into private_key_passphrase, or decrypt it: openssl pkey -in FILE -out NEW"
        )
      } else if isEncrypted {
        ("private_key_passphrase does not decrypt it", "compare: openssl pkey -in FILE -noout asks for the passphrase")
      } else if labels.contains(where: { $0.hasSuffix("PRIVATE KEY") }) {
        ("it is damaged, or of a kind that libcrypto does not read", "compare: openssl pkey -in FILE -noout")
      } else if labels.contains(where: { $0.hasSuffix("PUBLIC KEY") }) {
        ("it is a public key, which is for upstream", nil)
      } else if labels.contains("CERTIFICATE") {
        ("it is a certificate without its private key", nil)
      } else if let label = labels.first {
        ("it has \(label), and no private key", nil)
      } else {
        (
          "it is no PEM text, which begins with -----BEGIN PRIVATE KEY-----",
          "convert another format: openssl pkey -inform DER -in FILE"
        )
      }
    self.init(.privateKey, cause: cause, cure: cure)
  }
}

extension PrivateKey.Kind {
  /// nil if a key of this kind signs with the algorithm.
  fileprivate func mismatch(with algorithm: SignatureAlgorithm) -> KeyFault? {
    if signs(algorithm) { return nil }
    let cause = "it is \(text), and auth.jwt.alg = \"\(algorithm.rawValue)\" needs \(Self.needed(algorithm))"
    let others = SignatureAlgorithm.allCases.filter(signs).map(\.rawValue)
    return KeyFault(
      .privateKey, cause: cause, cure: others.isEmpty ? nil : "set auth.jwt.alg to \(others.joined(separator: " or "))")
  }

  private func signs(_ algorithm: SignatureAlgorithm) -> Bool {
    switch (algorithm, self) {
    case (.rs256, .rsa(let bits)), (.rs384, .rsa(let bits)), (.ps256, .rsa(let bits)), (.ps256, .rsaPSS(let bits)):
      bits >= Self.minBits
    case (.es256, .curve("prime256v1")), (.es384, .curve("secp384r1")), (.edDSA, .edwards): true
    case (.rs256, _), (.rs384, _), (.ps256, _), (.es256, _), (.es384, _), (.edDSA, _), (.hs256, _): false
    }
  }

  /// RFC 7518 §3.3.
  private static let minBits = 2048

  private static func needed(_ algorithm: SignatureAlgorithm) -> String {
    switch algorithm {
    case .rs256, .rs384, .ps256: "an RSA key of at least \(minBits) bits"
    case .es256: "a key on the curve P-256 (prime256v1)"
    case .es384: "a key on the curve P-384 (secp384r1)"
    case .edDSA: "an Ed25519 key"
    case .hs256: "a shared secret"
    }
  }

  private var text: String {
    switch self {
    case .rsa(let bits): "an RSA key of \(bits) bits"
    case .rsaPSS(let bits): "an RSA-PSS key of \(bits) bits"
    case .curve(let name): "a key on the curve \(name)"
    case .edwards(let name): "an \(name) key"
    case .other(let name): "a key of the kind \(name)"
    }
  }
}
