import FoundationEssentials
import NIOSSL
import RosterCore

/// Failures of a server's certificate, which is refused. The texts are names of certificates.
extension Failure {
  /// BoringSSL reports the certificate that it refused, but not the reason. The reason follows from the certificate and
  /// the order of the checks.
  ///
  /// BoringSSL looks for a trusted issuer, then for forbidden uses. Then it verifies signatures and dates, from the
  /// trust anchor down to the server's certificate. Name constraints are last.
  /// - Parameters:
  ///   - own: the server's certificate.
  ///   - verified: certificates that passed the check of signatures and dates before, trust anchor first.
  init(refused: NIOSSLCertificate, own: NIOSSLCertificate?, verified: [NIOSSLCertificate], now: Date) {
    guard let fields = try? CertificateFields(refused) else {
      self = .unreadableCertificate
      return
    }
    self =
      if verified.contains(refused) {
        .certificate(
          "the certificate \"\(fields.name)\" violates the name constraints of its authority \"\(Self.constraint(in: verified))\"",
          hint: "the server needs a certificate of an authority that may sign for its names")
      } else {
        .outdated(refused, fields: fields, now: now) ?? .unsigned(refused, fields: fields, own: own, verified: verified)
      }
  }

  private static func outdated(_ refused: NIOSSLCertificate, fields: CertificateFields, now: Date) -> Failure? {
    let end = Date(timeIntervalSince1970: Double(refused.notValidAfter))
    let start = Date(timeIntervalSince1970: Double(refused.notValidBefore))
    if end < now {
      return .certificate(
        "the certificate \"\(fields.name)\" expired at \(end.rfc3339)",
        hint: "the server needs a new certificate, or this machine's clock is wrong")
    }
    guard start > now else { return nil }
    return .certificate(
      "the certificate \"\(fields.name)\" is not valid before \(start.rfc3339)",
      hint: "see whether this machine's clock is right")
  }

  private static func unsigned(
    _ refused: NIOSSLCertificate, fields: CertificateFields, own: NIOSSLCertificate?, verified: [NIOSSLCertificate]
  ) -> Failure {
    let name = fields.name
    if !verified.isEmpty {
      // BoringSSL does not verify RSA-PSS with SHA-1.
      return fields.weakness(isSignatureTrusted: false)
        ?? .certificate(
          "the signature of the certificate \"\(name)\" is wrong",
          hint: "the server needs a chain whose certificates belong together: openssl verify")
    }
    if fields.isSelfSigned {
      return refused.isOfAuthority && refused._subjectAlternativeNames().isEmpty
        ? .unknownAuthority(name)
        : .certificate(
          "the server's certificate \"\(name)\" is self-signed and not trusted here",
          hint: "if it is the right server, name its certificate in upstream.tls.ca_file")
    }
    if let unknown = refused.unknownCriticalExtension {
      return .certificate(
        "the certificate \"\(name)\" has the critical extension \(unknown), which rosterd does not know",
        hint: "the server needs a chain without it")
    }
    if refused.forbidsServers {
      return .certificate(
        "the certificate \"\(name)\" is not for servers: its extended key usage lacks serverAuth", hint: forServers)
    }
    if let own, own != refused, !refused.isOfAuthority {
      return .certificate(
        "the certificate \"\(name)\" has signed another one, but is not of an authority: its basic constraints lack CA:TRUE",
        hint: "the server needs a chain in which only authorities have signed: openssl verify")
    }
    if refused.permitsNoAuthorities, let own = own.flatMap({ try? CertificateFields($0) }), !own.isIssued(by: fields) {
      return .certificate(
        "the certificate \"\(name)\" permits no authority below it: its path length is 0",
        hint: "the server needs a certificate that \"\(name)\" itself has signed")
    }
    let issuer = fields.issuer.text
    return refused.isOfAuthority
      ? .unknownAuthority(issuer)
      : .certificate(
        "the server's certificate is signed by an authority that is not trusted here, \"\(issuer)\", and the server sent no intermediate certificate that may sign",
        hint:
          "if \"\(issuer)\" is an intermediate authority, the server must send its certificate too; if it is a root, name the root certificate in upstream.tls.ca_file"
      )
  }

  /// The last certificate of the chain names an issuer that is not trusted.
  private static func unknownAuthority(_ issuer: String) -> Failure {
    certificate(
      "the server's certificate is signed by an authority that is not trusted here: \"\(issuer)\"",
      hint:
        "if it is the right server, name the root certificate of \"\(issuer)\" in upstream.tls.ca_file; an intermediate certificate is not enough"
    )
  }

  private static func constraint(in verified: [NIOSSLCertificate]) -> String {
    let authority = verified.first { $0.has(.nameConstraints) }
    return authority.flatMap { try? CertificateFields($0).name } ?? ""
  }

  private static let forServers = "the server needs a certificate for TLS servers"

  static var wrongCertificateUse: Failure {
    certificate("the server's certificate is not for servers: its key usage lacks digitalSignature", hint: forServers)
  }

  static func otherHost(_ host: String, named names: [String]) -> Failure {
    certificate(
      "the server's certificate is for another host: it names \(names.joined(separator: ", ")), not \(host)",
      hint: "use a name in upstream.base_url that the certificate has")
  }

  /// The certificate has no subjectAltName for hosts or addresses.
  static var unnamedCertificate: Failure {
    certificate(
      "the server's certificate names no host: it has no subjectAltName",
      hint: "the server needs a certificate with a subjectAltName; the common name does not count (RFC 9525)")
  }

  /// BoringSSL refused the chain without naming a certificate.
  static var unreadableCertificate: Failure {
    certificate(
      "the server's certificate could not be verified", hint: "see what certificate the server sends: openssl s_client")
  }

  fileprivate static func certificate(_ cause: String, hint: String) -> Failure {
    Failure(.unreachable, cause: cause, hint: hint).with(.certificate)
  }

  /// - Parameter key: the key of the server, in the form of a pin.
  static func unpinned(_ key: String) -> Failure {
    Failure(
      .unreachable, cause: "the server's key is not in upstream.tls.pins: \(key)",
      hint: "pin that key only if you know from elsewhere that it is the server's new one"
    ).with(.pin)
  }
}

extension CertificateFields {
  /// The failure of a certificate whose key or signature is too weak; nil if both are strong enough.
  /// - Parameter isSignatureTrusted: true for a trust anchor, which is trusted for its key.
  func weakness(isSignatureTrusted: Bool) -> Failure? {
    if let rsaBits, rsaBits < Self.minRSABits {
      return .certificate(
        "the certificate \"\(name)\" has an RSA key of only \(rsaBits) bits",
        hint: "the server needs a chain with RSA keys of at least 2048 bits, or with ECDSA keys")
    }
    guard !isSignatureTrusted, let brokenHash else { return nil }
    return .certificate(
      "the certificate \"\(name)\" is signed with \(brokenHash)",
      hint: "the server needs a chain that is signed with SHA-256 or better")
  }

  private static let minRSABits = 2048
}
