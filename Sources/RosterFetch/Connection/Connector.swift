import NIOCore
import NIOSSL
import RosterModel

/// Makes connections that are ready for their first request: by way of a proxy, with TLS, to whom they should lead.
final class Connector {
  private let roots: TrustedRoots
  private let pins: Pins
  private let loop: any EventLoop
  /// Made for the first connection, because the system's roots take a while to read.
  private var madeContext: NIOSSLContext?

  init(roots: TrustedRoots, pins: Pins, on loop: any EventLoop) {
    self.roots = roots
    self.pins = pins
    self.loop = loop
  }

  /// Fails with an error of the libraries, a `CertificateFault`, a `ProxyFault` or a `HandshakeTimeout`.
  func connect(_ way: Route.Way, by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    switch way {
    case .direct(let origin):
      let channel = TCP.connect(to: origin.host, origin.port, by: deadline, on: loop)
      return origin.scheme == "https" ? secured(channel, to: origin, by: deadline) : channel
    case .relayed(let proxy):
      return TCP.connect(to: proxy, by: deadline, on: loop)
    case .tunnelled(let proxy, let origin):
      let channel = ProxyTunnel.open(to: origin, by: proxy, deadline: deadline, on: loop)
      return secured(channel, to: origin, by: deadline)
    }
  }

  private func secured(
    _ channel: EventLoopFuture<any Channel>, to origin: Origin, by deadline: NIODeadline
  ) -> EventLoopFuture<any Channel> {
    channel.assumeIsolated().flatMap { [self] channel in
      let watch = ChainWatch()
      do {
        let tls = try watch.handler(try context(), serverName: origin.serverName)
        let shake = try Handshake.begin(on: channel, tls, by: deadline).assumeIsolated()
        let admitted = shake.flatMapThrowing { [pins] () throws -> any Channel in
          let certificate = try watch.verifiedCertificate()
          try pins.verify(certificate)
          try ServerIdentity(origin).verify(certificate)
          return channel
        }.flatMapErrorThrowing { error throws -> any Channel in throw watch.reason(for: error) }
        admitted.whenFailure { _ in channel.close(promise: nil) }
        return admitted.nonisolated()
      } catch {
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(error)
      }
    }.nonisolated()
  }

  private func context() throws -> NIOSSLContext {
    if let madeContext { return madeContext }
    var configuration = TLSConfiguration.makeClientConfiguration()
    // RFC 8996: nothing older is safe.
    configuration.minimumTLSVersion = .tlsv12
    // `ServerIdentity` verifies the host.
    configuration.certificateVerification = .noHostnameVerification
    configuration.verifySignatureAlgorithms = Self.signatures
    // RFC 7301: what this client speaks.
    configuration.applicationProtocols = ["http/1.1"]
    roots.apply(to: &configuration)
    let context = try NIOSSLContext(configuration: configuration)
    madeContext = context
    return context
  }

  /// BoringSSL's own list, without SHA-1.
  private static let signatures: [SignatureAlgorithm] = [
    .ecdsaSecp256R1Sha256, .rsaPssRsaeSha256, .rsaPkcs1Sha256, .ecdsaSecp384R1Sha384, .rsaPssRsaeSha384,
    .rsaPkcs1Sha384, .rsaPssRsaeSha512, .rsaPkcs1Sha512,
  ]
}
