import FoundationEssentials
import NIOSSL
import RosterModel

/// Why a server's certificate is refused. The texts are names of certificates.
enum CertificateFault: Error, Equatable {
  case expired(String, Date)
  case notYetValid(String, Date)
  case selfSigned(String)
  /// The last certificate of the chain names an issuer that is not trusted.
  case unknownAuthority(issuer: String)
  /// As `unknownAuthority`, but the server sent only its own certificate.
  case incompleteChain(issuer: String)
  /// The certificate has signed another one.
  case notOfAuthority(String)
  /// The certificate permits no further authority between itself and the server's certificate.
  case tooManyAuthorities(below: String)
  /// The critical extension, as an object identifier.
  case unknownExtension(String, in: String)
  case wrongExtendedUse(String)
  /// The server's certificate.
  case wrongUse
  case nameConstraints(String, of: String)
  case badSignature(String)
  case weakKey(String, bits: Int)
  case weakSignature(String, hash: String)
  case otherHost(String, named: [String])
  /// The certificate has no subjectAltName for hosts or addresses.
  case unnamed
  /// The server has this key, in the form of a pin, and the key is not pinned.
  case unpinned(String)
  /// BoringSSL refused the chain without naming a certificate.
  case unreadable

  /// BoringSSL reports the certificate that it refused, but not the reason. The reason follows from the certificate and
  /// the order of the checks.
  ///
  /// BoringSSL looks for a trusted issuer, then for forbidden uses. Then it verifies signatures and dates, from the
  /// trust anchor down to the server's certificate. Name constraints are last.
  /// - Parameters:
  ///   - own: the server's certificate.
  ///   - verified: certificates that passed the check of signatures and dates before, trust anchor first.
  init(_ refused: NIOSSLCertificate, own: NIOSSLCertificate?, verified: [NIOSSLCertificate], now: Date) {
    guard let fields = try? CertificateFields(refused) else {
      self = .unreadable
      return
    }
    let name = fields.name
    let end = Date(timeIntervalSince1970: Double(refused.notValidAfter))
    let start = Date(timeIntervalSince1970: Double(refused.notValidBefore))
    self =
      if verified.contains(refused) {
        .nameConstraints(name, of: Self.constraint(in: verified))
      } else if end < now {
        .expired(name, end)
      } else if start > now {
        .notYetValid(name, start)
      } else if !verified.isEmpty {
        // BoringSSL does not verify RSA-PSS with SHA-1.
        fields.weakness(isSignatureTrusted: false) ?? .badSignature(name)
      } else if fields.isSelfSigned {
        refused.isOfAuthority && refused._subjectAlternativeNames().isEmpty
          ? .unknownAuthority(issuer: name) : .selfSigned(name)
      } else if let unknown = refused.unknownCriticalExtension {
        .unknownExtension(unknown, in: name)
      } else if refused.forbidsServers {
        .wrongExtendedUse(name)
      } else if let own, own != refused, !refused.isOfAuthority {
        .notOfAuthority(name)
      } else if refused.permitsNoAuthorities, let own = own.flatMap({ try? CertificateFields($0) }),
        !own.isIssued(by: fields)
      {
        .tooManyAuthorities(below: name)
      } else if refused.isOfAuthority {
        .unknownAuthority(issuer: fields.issuer.text)
      } else {
        .incompleteChain(issuer: fields.issuer.text)
      }
  }

  private static func constraint(in verified: [NIOSSLCertificate]) -> String {
    let authority = verified.first { $0.has(.nameConstraints) }
    return authority.flatMap { try? CertificateFields($0).name } ?? ""
  }

  var isOfPin: Bool { if case .unpinned = self { true } else { false } }

  var cause: String {
    switch self {
    case .expired(let name, let end): "the certificate \"\(name)\" expired at \(end.rfc3339)"
    case .notYetValid(let name, let start): "the certificate \"\(name)\" is not valid before \(start.rfc3339)"
    case .selfSigned(let name): "the server's certificate \"\(name)\" is self-signed and not trusted here"
    case .unknownAuthority(let issuer):
      "the server's certificate is signed by an authority that is not trusted here: \"\(issuer)\""
    case .incompleteChain(let issuer):
      "the server's certificate is signed by an authority that is not trusted here, \"\(issuer)\", and the server sent no intermediate certificate that may sign"
    case .notOfAuthority(let name):
      "the certificate \"\(name)\" has signed another one, but is not of an authority: its basic constraints lack CA:TRUE"
    case .tooManyAuthorities(let name):
      "the certificate \"\(name)\" permits no authority below it: its path length is 0"
    case .unknownExtension(let identifier, let name):
      "the certificate \"\(name)\" has the critical extension \(identifier), which rosterd does not know"
    case .wrongExtendedUse(let name):
      "the certificate \"\(name)\" is not for servers: its extended key usage lacks serverAuth"
    case .wrongUse: "the server's certificate is not for servers: its key usage lacks digitalSignature"
    case .nameConstraints(let name, let authority):
      "the certificate \"\(name)\" violates the name constraints of its authority \"\(authority)\""
    case .badSignature(let name): "the signature of the certificate \"\(name)\" is wrong"
    case .weakKey(let name, let bits): "the certificate \"\(name)\" has an RSA key of only \(bits) bits"
    case .weakSignature(let name, let hash): "the certificate \"\(name)\" is signed with \(hash)"
    case .otherHost(let host, let names):
      "the server's certificate is for another host: it names \(names.joined(separator: ", ")), not \(host)"
    case .unnamed: "the server's certificate names no host: it has no subjectAltName"
    case .unpinned(let key): "the server's key is not in upstream.tls.pins: \(key)"
    case .unreadable: "the server's certificate could not be verified"
    }
  }

  var hint: String {
    switch self {
    case .expired: "the server needs a new certificate, or this machine's clock is wrong"
    case .notYetValid: "see whether this machine's clock is right"
    case .selfSigned: "if it is the right server, name its certificate in upstream.tls.ca_file"
    case .unknownAuthority(let issuer):
      "if it is the right server, name the root certificate of \"\(issuer)\" in upstream.tls.ca_file; an intermediate certificate is not enough"
    case .incompleteChain(let issuer):
      "if \"\(issuer)\" is an intermediate authority, the server must send its certificate too; if it is a root, name the root certificate in upstream.tls.ca_file"
    case .notOfAuthority: "the server needs a chain in which only authorities have signed: openssl verify"
    case .tooManyAuthorities(let name): "the server needs a certificate that \"\(name)\" itself has signed"
    case .unknownExtension: "the server needs a chain without it"
    case .wrongExtendedUse, .wrongUse: "the server needs a certificate for TLS servers"
    case .nameConstraints: "the server needs a certificate of an authority that may sign for its names"
    case .badSignature: "the server needs a chain whose certificates belong together: openssl verify"
    case .weakKey: "the server needs a chain with RSA keys of at least 2048 bits, or with ECDSA keys"
    case .weakSignature: "the server needs a chain that is signed with SHA-256 or better"
    case .otherHost: "use a name in upstream.base_url that the certificate has"
    case .unnamed: "the server needs a certificate with a subjectAltName; the common name does not count (RFC 9525)"
    case .unpinned: "pin that key only if you know from elsewhere that it is the server's new one"
    case .unreadable: "see what certificate the server sends: openssl s_client"
    }
  }
}

extension CertificateFields {
  /// The fault of a certificate whose key or signature is too weak; nil if both are strong enough.
  /// - Parameter isSignatureTrusted: true for a trust anchor, which is trusted for its key.
  func weakness(isSignatureTrusted: Bool) -> CertificateFault? {
    if let rsaBits, rsaBits < Self.minRSABits { return .weakKey(name, bits: rsaBits) }
    guard !isSignatureTrusted, let brokenHash else { return nil }
    return .weakSignature(name, hash: brokenHash)
  }

  private static let minRSABits = 2048
}
