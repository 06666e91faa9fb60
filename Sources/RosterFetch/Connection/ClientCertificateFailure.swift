import NIOSSL
import RosterModel

/// A TLS alert, or an answer of nginx, by which a server requires or refuses the client's certificate (T15.4).
extension Failure {
  /// nil if the error is not such an alert. NIOSSL shows an alert only by its name in the error's text.
  /// - Parameter wasRequested: true if the server requested a certificate in this handshake. A general alert is then
  ///   about it.
  init?(clientCertificate error: any Error, wasRequested: Bool = false) {
    guard error is NIOSSLError || error is BoringSSLError else { return nil }
    let text = "\(error)"
    if let alert = Self.alerts.first(where: { text.contains($0.name) }) {
      self.init(clientCertificate: alert.cause)
    } else if wasRequested, text.contains("ALERT_HANDSHAKE_FAILURE") {
      self.init(clientCertificate: Self.required)
    } else {
      return nil
    }
  }

  /// nil for any other answer. With `ssl_verify_client` nginx completes the handshake, and then answers 400 with one of
  /// these titles.
  init?(clientCertificate response: Response) {
    guard response.status == 400 else { return nil }
    let start = String(decoding: response.body.prefix(512), as: UTF8.self)
    if start.contains("400 No required SSL certificate was sent") {
      self.init(clientCertificate: Self.required)
    } else if start.contains("400 The SSL certificate error") {
      self.init(clientCertificate: "the server refuses the client certificate")
    } else {
      return nil
    }
  }

  private init(clientCertificate cause: String) {
    self.init(
      .refused, cause: cause,
      hint:
        "name a certificate that upstream accepts in upstream.tls.cert_file, and its key in key_file or the credential client_key",
      reason: .clientCertificate)
  }

  private static let required = "the server requires a client certificate"

  private static let alerts: [(name: String, cause: String)] = [
    ("ALERT_CERTIFICATE_REQUIRED", required),
    ("ALERT_CERTIFICATE_EXPIRED", "the server refuses the client certificate: it has expired"),
    ("ALERT_CERTIFICATE_REVOKED", "the server refuses the client certificate: it was revoked"),
    ("ALERT_UNKNOWN_CA", "the server refuses the client certificate: it does not trust the authority that signed it"),
    ("ALERT_BAD_CERTIFICATE", "the server refuses the client certificate: it is invalid there"),
    ("ALERT_UNSUPPORTED_CERTIFICATE", "the server refuses the client certificate: it is not for clients"),
    ("ALERT_CERTIFICATE_UNKNOWN", "the server refuses the client certificate"),
    ("ALERT_ACCESS_DENIED", "the server knows the client certificate and denies access"),
  ]
}
