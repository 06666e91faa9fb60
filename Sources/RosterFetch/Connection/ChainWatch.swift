import FoundationEssentials
import NIOSSL
import RosterModel

/// Collects BoringSSL's reports while it verifies the chain of one server. Only the transport's loop uses it.
final class ChainWatch {
  /// Certificates that passed all checks: the trust anchor first, the server's own certificate last.
  private var verified: [NIOSSLCertificate] = []
  private var refused: NIOSSLCertificate?
  /// The server's own certificate, if another one may have been refused.
  private var own: NIOSSLCertificate?
  private weak var tls: NIOSSLClientHandler?

  /// - Parameter serverName: the name for SNI; nil if the host is an address.
  func handler(_ context: NIOSSLContext, serverName: String?) throws -> NIOSSLClientHandler {
    let maker: any HandlerMaker.Type = WatchedHandler.self
    let tls = try maker.handler(context, serverName: serverName) { verdict, certificate in
      switch verdict {
      case .certificateVerified: self.verified.append(certificate)
      case .failed: (self.refused, self.own) = (certificate, self.tls?.peerCertificate)
      }
      return verdict
    }
    self.tls = tls
    return tls
  }

  /// The server's own certificate. The handshake is over.
  /// - Throws: a `Failure` if a key or a signature of the chain is too weak. The trust anchor is trusted for
  ///   its key, so its own signature does not count.
  func verifiedCertificate() throws -> NIOSSLCertificate {
    guard let own = verified.last else { throw Failure.unreadableCertificate }
    for (depth, certificate) in verified.enumerated() {
      guard let fields = try? CertificateFields(certificate) else { throw Failure.unreadableCertificate }
      if let fault = fields.weakness(isSignatureTrusted: depth == 0) { throw fault }
    }
    return own
  }

  /// The reason why the handshake ended with `error`.
  func reason(for error: any Error) -> any Error {
    if let refused { return Failure(refused: refused, own: own, verified: verified, now: Date()) }
    guard let error = error as? NIOSSLError, case .handshakeFailed = error else { return error }
    if error.names("KEY_USAGE_BIT_INCORRECT") { return Failure.wrongCertificateUse }
    return error.names("CERTIFICATE_VERIFY_FAILED") ? Failure.unreadableCertificate : Failure.handshakeBrokenOff
  }
}

/// NIOSSL has deprecated the callback for each certificate. Its replacement also replaces BoringSSL's verification, and
/// no other way shows a verified chain. The protocol is not deprecated, so that the compiler accepts the call.
private protocol HandlerMaker {
  static func handler(
    _ context: NIOSSLContext, serverName: String?, callback: @escaping NIOSSLVerificationCallback
  ) throws -> NIOSSLClientHandler
}

private enum WatchedHandler: HandlerMaker {
  @available(*, deprecated, message: "see HandlerMaker")
  static func handler(
    _ context: NIOSSLContext, serverName: String?, callback: @escaping NIOSSLVerificationCallback
  ) throws -> NIOSSLClientHandler {
    try NIOSSLClientHandler(context: context, serverHostname: serverName, verificationCallback: callback)
  }
}

extension NIOSSLError {
  /// True if a handshake failed for this reason. BoringSSL's codes are private to NIOSSL; the name of the reason in the
  /// error's text is all that NIOSSL shows.
  fileprivate func names(_ reason: String) -> Bool {
    guard case .handshakeFailed(.sslError(let stack)) = self else { return false }
    return stack.contains { $0.description.contains(reason) }
  }
}
