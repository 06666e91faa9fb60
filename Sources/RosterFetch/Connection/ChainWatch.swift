import FoundationEssentials
import NIOCore
import NIOSSL
import NIOTLS
import RosterCore

/// Collects BoringSSL's reports while it verifies the chain of one server. Only the transport's loop uses it.
final class ChainWatch {
  /// Certificates that passed all checks: the trust anchor first, the server's own certificate last.
  private var verified: [NIOSSLCertificate] = []
  private var refused: NIOSSLCertificate?

  /// - Parameter serverName: the name for SNI; nil if the host is an address.
  func handler(_ context: NIOSSLContext, serverName: String?) throws -> NIOSSLClientHandler {
    let maker: any HandlerMaker.Type = WatchedHandler.self
    return try maker.handler(context, serverName: serverName) { verdict, certificate in
      switch verdict {
      case .certificateVerified: self.verified.append(certificate)
      case .failed: self.refused = certificate
      }
      return verdict
    }
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
    if let refused { return Failure(refused: refused, verified: verified, now: Date()) }
    guard let error = error as? NIOSSLError, case .handshakeFailed = error else { return error }
    let isOfCertificate = ["KEY_USAGE_BIT_INCORRECT", "CERTIFICATE_VERIFY_FAILED"].contains(where: error.names)
    return isOfCertificate ? Failure.unreadableCertificate : Failure.handshakeBrokenOff
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

/// Waits until the TLS handshake has ended.
final class Handshake: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = Never

  private let done: EventLoopPromise<Void>

  private init(_ done: EventLoopPromise<Void>) {
    self.done = done
  }

  /// Begins the handshake over an open channel, on its loop. Fails with an error of NIOSSL or a `Failure`;
  /// the channel is then useless.
  static func begin(
    on channel: any Channel, _ tls: NIOSSLClientHandler, by deadline: NIODeadline
  ) throws -> EventLoopFuture<Void> {
    let done = channel.eventLoop.makePromise(of: Void.self)
    let alarm = channel.eventLoop.scheduleTask(deadline: deadline) { done.fail(Failure.handshakeLate) }
    let pipeline = channel.pipeline.syncOperations
    let watch = Handshake(done)
    try pipeline.addHandlers([tls, watch])
    done.futureResult.assumeIsolated().whenComplete { _ in
      alarm.cancel()
      pipeline.removeHandler(watch, promise: nil)
    }
    return done.futureResult
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted = event { done.succeed() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    done.fail(error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    done.fail(Failure.handshakeBrokenOff)
    context.fireChannelInactive()
  }
}

/// Verifies that a server is the requested one (RFC 9525): its certificate names the host, or its address if the host
/// is an address.
///
/// NIOSSL's own check also accepts a common name, `a*.example.test` and `*`. It accepts the address that the connection
/// leads to as well, which may be a proxy's. It refuses a host with an underscore.
struct ServerIdentity: Sendable {
  private let host: String
  /// Bytes of the IP address; nil if the host is a name.
  private let address: [UInt8]?

  init(_ origin: Origin) {
    host = origin.absoluteHost
    address = IPAddress.bytes(host)
  }

  /// Throws a `Failure` if the certificate is for another server.
  func verify(_ certificate: NIOSSLCertificate) throws {
    let names = CertifiedNames(certificate)
    if names.hosts.isEmpty && names.addresses.isEmpty { throw Failure.unnamedCertificate }
    if let address {
      if names.addresses.contains(address) { return }
    } else if names.hosts.contains(where: matches) {
      return
    }
    throw Failure.otherHost(host, named: names.texts)
  }

  /// Compares label by label (RFC 9525 §6.3). The first label of the pattern may be `*`, unless only a top-level domain
  /// follows.
  private func matches(_ pattern: [UInt8]) -> Bool {
    let labels = Self.labels(Array(host.utf8))
    let wanted = Self.labels(pattern)
    guard labels.count == wanted.count, !labels.contains([]) else { return false }
    if wanted[0] == [UInt8(ascii: "*")], labels.count > 2 { return labels.dropFirst() == wanted.dropFirst() }
    return labels == wanted
  }

  /// The labels, with ASCII letters in lower case.
  private static func labels(_ name: [UInt8]) -> [[UInt8]] {
    name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { label in
      label.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
  }
}
