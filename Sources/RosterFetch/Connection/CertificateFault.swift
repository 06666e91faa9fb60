import FoundationEssentials
import NIOSSL
import RosterModel

/// Why a chain is not trusted. BoringSSL says so as text only; dates and names are in the certificates.
enum CertificateFault: Error, Equatable {
  case expired(Date)
  case notYetValid(Date)
  case selfSigned
  case unknownAuthority
  /// The server let nobody look at its chain a second time.
  case unseen

  /// - Parameter chain: as the server sent it, its own certificate first.
  init(_ chain: [NIOSSLCertificate], now: Date) {
    if let end = chain.map({ Date(timeIntervalSince1970: Double($0.notValidAfter)) }).first(where: { $0 < now }) {
      self = .expired(end)
    } else if let start = chain.map({ Date(timeIntervalSince1970: Double($0.notValidBefore)) }).first(where: {
      $0 > now
    }) {
      self = .notYetValid(start)
    } else if let own = chain.first, let names = try? CertificateNames(der: own.toDERBytes()),
      names.issuer == names.subject
    {
      self = .selfSigned
    } else {
      self = .unknownAuthority
    }
  }

  var cause: String {
    switch self {
    case .expired(let end): "the server's certificate, or one it relies on, expired at \(end.rfc3339)"
    case .notYetValid(let start): "the server's certificate, or one it relies on, is not valid before \(start.rfc3339)"
    case .selfSigned: "the server's certificate is self-signed and not among the trusted ones"
    case .unseen: "the server's certificate could not be verified"
    case .unknownAuthority: "the server's certificate is signed by an authority that is not trusted here"
    }
  }

  var hint: String {
    switch self {
    case .expired: "the server needs a new certificate, or this machine's clock is wrong"
    case .notYetValid: "see whether this machine's clock is right"
    case .unseen: "see what certificate the server sends: openssl s_client"
    case .selfSigned: "if it is the right server, name its certificate in upstream.tls.ca_file"
    case .unknownAuthority: "if it is the right server, name its authority's certificate in upstream.tls.ca_file"
    }
  }
}

/// Issuer and subject of a certificate, still encoded (RFC 5280 §4.1), for comparison.
private struct CertificateNames {
  let issuer: ArraySlice<UInt8>
  let subject: ArraySlice<UInt8>

  private struct Malformed: Error {}

  init(der: [UInt8]) throws {
    var fields = try Self.next(in: Self.next(in: der[...]).content).content
    if fields.first == Self.versionTag { fields = try Self.next(in: fields).rest }
    for _ in ["serialNumber", "signature"] { fields = try Self.next(in: fields).rest }
    (issuer, fields) = try Self.next(in: fields)
    let validity = try Self.next(in: fields)
    subject = try Self.next(in: validity.rest).content
  }

  /// `[0] EXPLICIT`, absent from certificates of version 1.
  private static let versionTag: UInt8 = 0xA0

  /// One element of definite length (ITU-T X.690 §8.1) of low tag number.
  private static func next(in bytes: ArraySlice<UInt8>) throws -> (content: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)
  {
    var rest = bytes.dropFirst()
    guard let first = rest.popFirst() else { throw Malformed() }
    var length = Int(first)
    if first & 0x80 != 0 {
      let count = Int(first & 0x7F)
      guard count <= 4, rest.count >= count else { throw Malformed() }
      length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(count)
    }
    guard rest.count >= length else { throw Malformed() }
    return (rest.prefix(length), rest.dropFirst(length))
  }
}
