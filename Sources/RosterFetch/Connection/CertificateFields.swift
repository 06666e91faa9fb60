import NIOSSL
import RosterCore

/// Fields of a certificate (RFC 5280 §4.1) that NIOSSL does not show.
struct CertificateFields {
  /// A Name, still encoded, so that two names can be compared.
  struct Name: Equatable {
    fileprivate let encoded: ArraySlice<UInt8>

    /// The common name, otherwise the last attribute; printable and at most 64 characters long.
    var text: String {
      let attributes = (try? Self.attributes(encoded)) ?? []
      let value = attributes.last { $0.type.elementsEqual(Self.commonName) } ?? attributes.last
      return String(decoding: value?.text ?? [], as: UTF8.self).printable.prefix(64).description
    }

    private static let commonName: [UInt8] = [0x55, 0x04, 0x03]

    private static func attributes(
      _ encoded: ArraySlice<UInt8>
    ) throws -> [(type: ArraySlice<UInt8>, text: ArraySlice<UInt8>)] {
      try DERElement.elements(of: encoded).flatMap { set in
        try set.elements(atLeast: 1).map { attribute in
          let pair = try attribute.elements(atLeast: 2)
          return (pair[0].content, pair[1].content)
        }
      }
    }
  }

  let issuer: Name
  private let subject: Name
  /// The subject's text, otherwise the first host of the subjectAltName.
  let name: String
  /// Object identifier of the algorithm that the issuer signed with, still encoded.
  private let signature: ArraySlice<UInt8>
  /// Object identifier of the hash function that a signature by RSA-PSS names, still encoded; nil for other signatures.
  private let pssHash: ArraySlice<UInt8>?
  /// Size of the public key; nil if it is not an RSA key.
  let rsaBits: Int?

  init(_ certificate: NIOSSLCertificate) throws {
    let whole = try DERElement.elements(of: certificate.toDERBytes()[...])
    guard let outer = whole.first else { throw DERElement.Malformed() }
    var fields = try outer.elements(atLeast: 3)[0].elements(atLeast: 6)[...]
    // A certificate of version 1 does not name its version.
    if fields.first?.tag == Self.firstTag { fields = fields.dropFirst() }
    guard fields.count >= 6 else { throw DERElement.Malformed() }
    let (algorithm, key) = (fields[fields.startIndex + 1], fields[fields.startIndex + 5])
    issuer = Name(encoded: fields[fields.startIndex + 2].content)
    subject = Name(encoded: fields[fields.startIndex + 4].content)
    let text = subject.text
    name = text.isEmpty ? CertifiedNames(certificate).texts.first ?? "" : text
    signature = try algorithm.elements(atLeast: 1)[0].content
    pssHash = try signature.elementsEqual(Self.pss) ? Self.pssHash(algorithm) : nil
    rsaBits = try Self.rsaBits(key)
  }

  var isSelfSigned: Bool { issuer == subject }

  /// Name of the broken hash function that the signature relies on; nil if the hash function is sound.
  var brokenHash: String? {
    let algorithm = pssHash ?? signature
    if Self.sha1Signatures.contains(where: algorithm.elementsEqual) { return "SHA-1" }
    return Self.md5Signatures.contains(where: algorithm.elementsEqual) ? "MD5" : nil
  }

  /// SubjectPublicKeyInfo (RFC 5280 §4.1.2.7): an algorithm, and a bit string with modulus and exponent.
  private static func rsaBits(_ info: DERElement) throws -> Int? {
    let parts = try info.elements(atLeast: 2)
    let algorithm = try parts[0].elements(atLeast: 1)[0].content
    guard rsaKeys.contains(where: algorithm.elementsEqual) else { return nil }
    // The first byte of a bit string is the number of unused bits.
    let key = try DERElement.elements(of: parts[1].content.dropFirst())
    guard let modulus = try key.first?.elements(atLeast: 2)[0].content.drop(while: { $0 == 0 }) else {
      throw DERElement.Malformed()
    }
    return modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
  }

  /// The hash function of RSASSA-PSS-params (RFC 4055 §3.1): `[0]`, or SHA-1 without it.
  private static func pssHash(_ algorithm: DERElement) throws -> ArraySlice<UInt8> {
    let parts = try algorithm.elements(atLeast: 1)
    let parameters = parts.count > 1 ? try parts[1].elements(atLeast: 0) : []
    guard let hash = parameters.first(where: { $0.tag == firstTag }) else { return sha1[...] }
    return try hash.elements(atLeast: 1)[0].elements(atLeast: 1)[0].content
  }

  /// `[0] EXPLICIT`.
  private static let firstTag: UInt8 = 0xA0

  /// rsaEncryption, id-RSASSA-PSS (RFC 8017 appendix C).
  private static let rsaKeys: [[UInt8]] = [pkcs1 + [1], pss]
  private static let pss = pkcs1 + [10]
  private static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
  /// sha1WithRSAEncryption, its old name of OIW, ecdsa-with-SHA1, dsa-with-sha1 (RFC 3279 §2.2); id-sha1 for RSA-PSS.
  private static let sha1Signatures: [[UInt8]] = [
    pkcs1 + [5], [0x2B, 0x0E, 0x03, 0x02, 0x1D], [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01],
    [0x2A, 0x86, 0x48, 0xCE, 0x38, 0x04, 0x03], sha1,
  ]
  /// md5WithRSAEncryption; id-md5 for RSA-PSS.
  private static let md5Signatures: [[UInt8]] = [
    pkcs1 + [4], [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x05],
  ]
  /// 1.2.840.113549.1.1
  private static let pkcs1: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
}

/// The subjectAltName of a certificate (RFC 5280 §4.2.1.6).
struct CertifiedNames {
  var hosts: [[UInt8]] = []
  var addresses: [[UInt8]] = []

  init(_ certificate: NIOSSLCertificate) {
    for name in certificate._subjectAlternativeNames() {
      switch name.nameType {
      case .dnsName: hosts.append(Array(name.contents))
      case .ipAddress: addresses.append(Array(name.contents))
      default: break
      }
    }
  }

  /// The first names, printable.
  var texts: [String] {
    let names = hosts.map { String(decoding: $0, as: UTF8.self).printable }
    // A host name that is an address does not match the address.
    let all = names.map { IPAddress.bytes($0) == nil ? $0 : "\($0) as a host name" } + addresses.map(IPAddress.text)
    return all.prefix(Self.maxShown) + (all.count > Self.maxShown ? ["…"] : [])
  }

  private static let maxShown = 4
}

/// One element of DER (ITU-T X.690 §8.1) with a low tag number and a definite length.
struct DERElement {
  struct Malformed: Error {}

  let tag: UInt8
  let content: ArraySlice<UInt8>

  /// Reads the first element and removes it from `bytes`.
  private init(from bytes: inout ArraySlice<UInt8>) throws(Malformed) {
    guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { throw Malformed() }
    self.tag = tag
    var length = Int(first)
    if first & 0x80 != 0 {
      let count = Int(first & 0x7F)
      guard count <= 4, bytes.count >= count else { throw Malformed() }
      length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      bytes = bytes.dropFirst(count)
    }
    guard bytes.count >= length else { throw Malformed() }
    content = bytes.prefix(length)
    bytes = bytes.dropFirst(length)
  }

  /// All elements that follow one another in `bytes`.
  static func elements(of bytes: ArraySlice<UInt8>) throws(Malformed) -> [DERElement] {
    var (rest, elements) = (bytes, [DERElement]())
    while !rest.isEmpty { elements.append(try DERElement(from: &rest)) }
    return elements
  }

  func elements(atLeast count: Int) throws(Malformed) -> [DERElement] {
    let elements = try Self.elements(of: content)
    guard elements.count >= count else { throw Malformed() }
    return elements
  }
}
