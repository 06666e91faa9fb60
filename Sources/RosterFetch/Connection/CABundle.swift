import NIOSSL
package import RosterModel

/// The certificate authorities that a transport trusts. Equal values trust the same authorities.
package enum TrustedRoots: Sendable, Equatable {
  case bundle(CABundle)
  case system(SystemRoots)

  func apply(to configuration: inout TLSConfiguration) {
    switch self {
    case .bundle(let bundle): configuration.trustRoots = .certificates(bundle.certificates)
    case .system(let system): system.apply(to: &configuration)
    }
  }
}

/// The roots in `upstream.tls.ca_file`, which replace the system's. Equal values trust the same roots, whatever their
/// files are.
package struct CABundle: Sendable, Equatable {
  let certificates: [NIOSSLCertificate]

  /// Throws a Failure (78) if the file has no readable certificate. The check takes place here, before the first
  /// connection.
  package init(path: String) throws(Failure) {
    do { certificates = try NIOSSLCertificate.fromPEMFile(path) } catch {
      throw Failure(
        .configuration, step: "read upstream.tls.ca_file", subject: path,
        cause: "it holds no certificate that can be read", hint: "name a readable bundle of certificates in PEM")
    }
  }
}
