import FoundationEssentials
import Glibc
import NIOSSL
import RosterAuth
package import RosterCore

/// The system's roots, in the places that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, otherwise in Debian's.
///
/// Two values differ if a file or a folder was replaced between them: a reload then reads the roots again.
package struct SystemRoots: Sendable, Equatable {
  /// Identifies a version of a file, to notice a replacement.
  private struct Version: Equatable {
    let device: dev_t, inode: ino_t
    let size: off_t
    let seconds: Int, nanoseconds: Int

    /// nil if there is no such file.
    init?(_ path: String) {
      guard let found = fileStatus(path) else { return nil }
      (device, inode, size) = (found.st_dev, found.st_ino, found.st_size)
      (seconds, nanoseconds) = (found.st_mtim.tv_sec, found.st_mtim.tv_nsec)
    }
  }

  private let places: RootPlaces
  private let versions: [Version?]

  /// Checks the files without reading them.
  package init(_ places: RootPlaces = RootPlaces()) {
    self.places = places
    versions = ([places.file ?? Self.usualFile] + (places.folders ?? [Self.usualFolder])).map(Version.init)
  }

  func apply(to configuration: inout TLSConfiguration) {
    if places == RootPlaces() { return }
    // NIOSSL accepts one folder that BoringSSL searches by name. The certificates of other folders are read here.
    let folders = (places.folders ?? [Self.usualFolder]).filter(Self.isFolder)
    configuration.trustRoots = folders.first.map { .file($0) } ?? .certificates([])
    let file = Self.certificates(in: places.file ?? Self.usualFile)
    let further = folders.dropFirst().flatMap(Self.certificates(below:))
    configuration.additionalTrustRoots = [.certificates(file + further)]
  }

  private static func certificates(in file: String) -> [NIOSSLCertificate] {
    (try? NIOSSLCertificate.fromPEMFile(file)) ?? []
  }

  private static func certificates(below folder: String) -> [NIOSSLCertificate] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().flatMap { certificates(in: "\(folder)/\($0)") }
  }

  private static func isFolder(_ path: String) -> Bool {
    fileStatus(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
  }

  private static let usualFile = "/etc/ssl/certs/ca-certificates.crt"
  private static let usualFolder = "/etc/ssl/certs"
}

/// The certificate authorities that a transport trusts. Equal values trust the same authorities.
package enum TrustedRoots: Sendable, Equatable {
  case bundle(CABundle)
  case system(SystemRoots)

  func apply(to configuration: inout TLSConfiguration) {
    switch self {
    case .bundle(let bundle): configuration.trustRoots = .certificates(bundle.certificates)
    case .system(let system): system.apply(to: &configuration)
    }
  }
}

/// The roots in `upstream.tls.ca_file`, which replace the system's. Equal values trust the same roots, whatever their
/// files are.
package struct CABundle: Sendable, Equatable {
  let certificates: [NIOSSLCertificate]

  /// Throws a Failure (78) if the file has no readable certificate. The check takes place here, before the first
  /// connection.
  package init(path: String) throws(Failure) {
    do { certificates = try NIOSSLCertificate.fromPEMFile(path) } catch {
      throw Failure(
        .configuration, step: "read upstream.tls.ca_file", subject: path,
        cause: "it holds no certificate that can be read", hint: "name a readable bundle of certificates in PEM")
    }
  }
}

/// `upstream.tls.pins`: the server must have one of these keys, and a trusted chain.
struct Pins: Sendable {
  /// SHA-256 digests of SubjectPublicKeyInfo.
  private let digests: Set<Data>

  /// An invalid pin matches no key.
  init(_ pins: [String]) {
    digests = Set(pins.map { Data(base64Encoded: String($0.dropFirst(Self.prefix.count))) ?? Data() })
  }

  /// Throws a `Failure`.
  /// - Parameter certificate: the server's own certificate.
  func verify(_ certificate: NIOSSLCertificate) throws {
    if digests.isEmpty { return }
    let digest = Data(sha256(try certificate.extractPublicKey().toSPKIBytes()))
    guard digests.contains(digest) else { throw Failure.unpinned(Self.prefix + digest.base64EncodedString()) }
  }

  private static let prefix = "sha256/"
}
