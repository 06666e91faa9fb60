/// The places where OpenSSL finds the system's certificate authorities.
package struct RootPlaces: Sendable, Equatable {
  /// `SSL_CERT_FILE`, a file of PEM certificates; nil for the usual one.
  package let file: String?
  /// `SSL_CERT_DIR`, folders of certificates separated by colons; nil for the usual one.
  package let folders: [String]?

  /// An empty variable counts as unset.
  package init(environment: [String: String] = [:]) {
    file = environment["SSL_CERT_FILE"].flatMap { $0.isEmpty ? nil : $0 }
    folders = environment["SSL_CERT_DIR"].flatMap { $0.isEmpty ? nil : $0.split(separator: ":").map(String.init) }
  }
}
