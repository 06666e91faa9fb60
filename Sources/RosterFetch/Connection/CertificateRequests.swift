import NIOCore
import NIOSSL
import Synchronization

/// Which servers requested a client certificate in a handshake that is under way. BoringSSL asks for this callback
/// only after a CertificateRequest, and NIOSSL offers no other way to see one.
final class CertificateRequests: Sendable {
  private let names = Mutex<Set<String>>([])

  /// For `TLSConfiguration.sslContextCallback`: takes note, and changes nothing.
  func callback(_ values: NIOSSLClientExtensionValues, _ promise: EventLoopPromise<NIOSSLContextConfigurationOverride>)
  {
    names.withLock { _ = $0.insert(values.serverHostname ?? "") }
    promise.succeed(.noChanges)
  }

  /// True if the server of that name requested one; it is forgotten for the next handshake.
  func take(_ serverName: String?) -> Bool {
    names.withLock { $0.remove(serverName ?? "") != nil }
  }
}
