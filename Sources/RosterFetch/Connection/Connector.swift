import NIOCore
import NIOPosix
import NIOSSL
import RosterCore

/// Makes connections that are ready for their first request: through a proxy, with TLS, and to the right server.
final class Connector {
  private let roots: TrustedRoots
  private let pins: Pins
  private let identity: ClientIdentity?
  private let requests = CertificateRequests()
  private let loop: any EventLoop
  /// The contexts with and without the client certificate. They are made for the first connection, because reading the
  /// system's roots takes a while.
  private var madeContexts: [Bool: NIOSSLContext] = [:]

  init(roots: TrustedRoots, pins: Pins, identity: ClientIdentity?, on loop: any EventLoop) {
    self.roots = roots
    self.pins = pins
    self.identity = identity
    self.loop = loop
  }

  /// Fails with an error of the libraries, or a `Failure`.
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
        let tls = try watch.handler(try context(for: origin), serverName: origin.serverName)
        let shake = try Handshake.begin(on: channel, tls, by: deadline).assumeIsolated()
        let admitted = shake.flatMapThrowing { [pins] () throws -> any Channel in
          let certificate = try watch.verifiedCertificate()
          try pins.verify(certificate)
          try ServerIdentity(origin).verify(certificate)
          return channel
        }.flatMapErrorThrowing { [requests] error throws -> any Channel in
          let wasRequested = requests.take(origin.serverName)
          throw Failure(clientCertificate: error, wasRequested: wasRequested) ?? watch.reason(for: error)
        }
        admitted.whenFailure { _ in channel.close(promise: nil) }
        return admitted.nonisolated()
      } catch {
        channel.close(promise: nil)
        return channel.eventLoop.makeFailedFuture(error)
      }
    }.nonisolated()
  }

  /// The client certificate is presented to its origins only.
  private func context(for origin: Origin) throws -> NIOSSLContext {
    _ = requests.take(origin.serverName)
    let presents = identity?.origins.contains(origin) ?? false
    if let madeContext = madeContexts[presents] { return madeContext }
    var configuration = TLSConfiguration.makeClientConfiguration()
    // RFC 8996: older versions are not safe.
    configuration.minimumTLSVersion = .tlsv12
    // `ServerIdentity` verifies the host.
    configuration.certificateVerification = .noHostnameVerification
    configuration.verifySignatureAlgorithms = Self.signatures
    // RFC 7301: the protocol that this client uses.
    configuration.applicationProtocols = ["http/1.1"]
    roots.apply(to: &configuration)
    if presents { identity?.certificate.present(in: &configuration) }
    configuration.sslContextCallback = { [requests] in requests.callback($0, promise: $1) }
    let context = try NIOSSLContext(configuration: configuration)
    madeContexts[presents] = context
    return context
  }

  /// BoringSSL's own list, without SHA-1.
  private static let signatures: [NIOSSL.SignatureAlgorithm] = [
    .ecdsaSecp256R1Sha256, .rsaPssRsaeSha256, .rsaPkcs1Sha256, .ecdsaSecp384R1Sha384, .rsaPssRsaeSha384,
    .rsaPkcs1Sha384, .rsaPssRsaeSha512, .rsaPkcs1Sha512,
  ]
}

/// Runs tasks on an event loop, alternating with its connections: an answer then wakes no other thread.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) {
    self.loop = loop
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
