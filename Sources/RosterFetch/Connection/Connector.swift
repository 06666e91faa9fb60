import NIOCore
import NIOSSL
import RosterModel

/// Makes connections that are ready for their first request: by way of a proxy, with TLS, to whom they should lead.
final class Connector {
  private let roots: CABundle?
  private let pins: Pins
  private let loop: any EventLoop
  /// Made when they are first needed: the system's roots take a while to read.
  private var contexts: [CertificateVerification: NIOSSLContext] = [:]

  /// - Parameter roots: nil: the system's.
  init(roots: CABundle?, pins: Pins, on loop: any EventLoop) {
    self.roots = roots
    self.pins = pins
    self.loop = loop
  }

  /// Fails with what the libraries threw, with a `ProxyFault`, or a `HandshakeTimeout`.
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
    let identity = ServerIdentity(origin)
    return channel.assumeIsolated().flatMap { [self] channel in
      do {
        let context = try context(identity.verification)
        let shake = try Handshake.begin(
          on: channel, NIOSSLClientHandler(context: context, serverHostname: origin.serverName), by: deadline)
        let admitted = shake.assumeIsolated().flatMapThrowing { [pins] in
          try pins.verify(channel)
          try identity.verify(channel)
          return channel
        }
        admitted.whenFailure { _ in channel.close(promise: nil) }
        return admitted.nonisolated()
      } catch {
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(error)
      }
    }.nonisolated()
  }

  private func context(_ verification: CertificateVerification) throws -> NIOSSLContext {
    if let context = contexts[verification] { return context }
    var configuration = TLSConfiguration(trusting: roots)
    configuration.certificateVerification = verification
    // RFC 7301: what this client speaks.
    configuration.applicationProtocols = ["http/1.1"]
    let context = try NIOSSLContext(configuration: configuration)
    contexts[verification] = context
    return context
  }
}

extension TLSConfiguration {
  /// - Parameter roots: nil: the system's.
  init(trusting roots: CABundle?) {
    self = .makeClientConfiguration()
    // RFC 8996: nothing older is safe.
    minimumTLSVersion = .tlsv12
    if let roots { trustRoots = .certificates(roots.certificates) }
  }
}
