import FoundationEssentials
import NIOSSL
import RosterCore

/// Failures of a server's certificate, which is refused. The texts are names of certificates.
extension Failure {
  /// BoringSSL reports the certificate that it refused, but not the reason. It looks for a trusted issuer and forbidden
  /// uses first. Then it verifies signatures and dates, from the trust anchor down to the server's certificate.
  /// - Parameter verified: certificates that passed the check of signatures and dates before, trust anchor first.
  init(refused: NIOSSLCertificate, verified: [NIOSSLCertificate], now: Date) {
    guard let fields = try? CertificateFields(refused) else {
      self = .unreadableCertificate
      return
    }
    let name = fields.name
    self =
      if let fault = Self.outdated(refused, name: name, now: now) {
        fault
      } else if verified.contains(refused) {
        .certificate("an authority of the certificate \"\(name)\" may not sign for its names", hint: Self.seeChain)
      } else if !verified.isEmpty {
        // BoringSSL does not verify RSA-PSS with SHA-1.
        fields.weakness(isSignatureTrusted: false)
          ?? .certificate("the signature of the certificate \"\(name)\" is wrong", hint: Self.seeChain)
      } else if fields.isSelfSigned {
        .certificate(
          "the certificate \"\(name)\" is self-signed and not trusted here",
          hint: "if it is the right server, name that certificate in upstream.tls.ca_file")
      } else {
        .certificate(
          "no authority that is trusted here vouches for the certificate \"\(name)\", which \"\(fields.issuer.text)\" has signed",
          hint:
            "if it is the right server, name the root certificate of \"\(fields.issuer.text)\" in upstream.tls.ca_file; the server must send each intermediate certificate; otherwise \(Self.seeChain)"
        )
      }
  }

  private static let seeChain =
    "see what is wrong with the chain that the server sends: openssl verify -purpose sslserver"

  private static func outdated(_ refused: NIOSSLCertificate, name: String, now: Date) -> Failure? {
    let end = Date(timeIntervalSince1970: Double(refused.notValidAfter))
    let start = Date(timeIntervalSince1970: Double(refused.notValidBefore))
    if end < now {
      return .certificate(
        "the certificate \"\(name)\" expired at \(end.rfc3339)",
        hint: "the server needs a new certificate, or this machine's clock is wrong")
    }
    guard start > now else { return nil }
    return .certificate(
      "the certificate \"\(name)\" is not valid before \(start.rfc3339)",
      hint: "see whether this machine's clock is right")
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
