import NIOSSL
package import RosterModel

/// `upstream.tls.ca_file`, read: the roots used instead of the system's. Equal ones trust the same, whatever their
/// files.
package struct CABundle: Sendable, Equatable {
  let certificates: [NIOSSLCertificate]

  /// Throws a Failure (78) where the file holds no certificate that can be read: found here, not on the first
  /// connection.
  package init(path: String) throws(Failure) {
    do { certificates = try NIOSSLCertificate.fromPEMFile(path) } catch {
      throw Failure(
        .configuration, step: "read upstream.tls.ca_file", subject: path,
        cause: "it holds no certificate that can be read", hint: "name a readable bundle of certificates in PEM")
    }
  }
}
