import NIOCore
import NIOSSL
import Synchronization

/// The servers that requested a client certificate in the current handshake. BoringSSL calls this callback only after a
/// CertificateRequest, and NIOSSL offers no other way to see one.
final class CertificateRequests: Sendable {
  private let names = Mutex<Set<String>>([])

  /// Notes the server's name and changes nothing. Used as `TLSConfiguration.sslContextCallback`.
  func callback(_ values: NIOSSLClientExtensionValues, promise: EventLoopPromise<NIOSSLContextConfigurationOverride>) {
    names.withLock { _ = $0.insert(values.serverHostname ?? "") }
    promise.succeed(.noChanges)
  }

  /// True if the server of that name requested a certificate. The note is removed, for the next handshake.
  func take(_ serverName: String?) -> Bool {
    names.withLock { $0.remove(serverName ?? "") != nil }
  }
}
