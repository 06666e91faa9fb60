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
