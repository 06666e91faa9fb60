import FoundationEssentials
import RosterCore

/// Finds credentials in a text that another program wrote, also encoded or cut.
struct SecretMask {
  /// A shorter secret is looked for as a whole.
  private static let pieceLength = 12
  /// Bytes of a `UInt64`.
  private static let headLength = 8
  /// A secret of fewer bytes is masked as a word of its own only: any text has such letters.
  private static let minLength = 4
  /// More of a text is not shown.
  private static let maxBytes = 4096
  /// A run of this many token characters counts as an unknown token.
  private static let tokenLength = 40

  /// The secrets in each notation.
  private let secrets: Set<[UInt8]>

  /// - Parameter secrets: an empty text hides nothing, and has no digits.
  init(_ secrets: [String]) {
    self.secrets = Set(secrets.filter { !$0.isEmpty }.flatMap { Array($0.utf8).notations }.filter { !$0.isEmpty })
  }

  /// Masks all texts at once. A secret may be 200 times as long as a text, so it is read once for all of them.
  func masked(_ texts: [String]) -> [String] {
    let texts = texts.map { Self.shortened(Array($0.utf8.prefix(3 * Self.maxBytes)).percentDecoded) }
    let pieces = pieces(in: texts)
    return texts.map { masked($0, pieces: pieces) }
  }

  private func masked(_ bytes: [UInt8], pieces: Set<ArraySlice<UInt8>>) -> String {
    var isHidden = Array(repeating: false, count: bytes.count)
    for start in Self.starts(in: bytes) where pieces.contains(bytes[start..<start + Self.pieceLength]) {
      for index in start..<start + Self.pieceLength { isHidden[index] = true }
    }
    for secret in secrets where secret.count < Self.pieceLength { hide(secret, bytes: bytes, isHidden: &isHidden) }
    hideTokens(bytes, isHidden: &isHidden)
    var shown: [UInt8] = []
    for (index, byte) in bytes.enumerated() {
      if !isHidden[index] {
        shown.append(byte)
      } else if index == 0 || !isHidden[index - 1] {
        shown += "***".utf8
      }
    }
    return String(decoding: shown, as: UTF8.self)
  }

  /// The pieces of the secrets that may occur in the texts. Most pieces of a secret are dropped by their first bytes
  /// alone, which cost no hash of a piece.
  private func pieces(in texts: [[UInt8]]) -> Set<ArraySlice<UInt8>> {
    var heads: Set<UInt64> = []
    for text in texts { for start in Self.starts(in: text) { heads.insert(Self.head(of: text, at: start)) } }
    var pieces: Set<ArraySlice<UInt8>> = []
    for secret in secrets {
      var head = Self.head(of: secret, at: 0) >> 8
      for start in Self.starts(in: secret) {
        head = head << 8 | UInt64(secret[start + Self.headLength - 1])
        if heads.contains(head) { pieces.insert(secret[start..<start + Self.pieceLength]) }
      }
    }
    return pieces
  }

  /// The indices at which a piece begins.
  private static func starts(in bytes: [UInt8]) -> Range<Int> { 0..<max(0, bytes.count - pieceLength + 1) }

  /// The first bytes of a piece as one number.
  private static func head(of bytes: [UInt8], at start: Int) -> UInt64 {
    bytes[start...].prefix(headLength).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Without a last word that is cut.
  private static func shortened(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count > maxBytes else { return bytes }
    let kept = bytes.prefix(maxBytes)
    return Array(kept[..<(kept.lastIndex(of: UInt8(ascii: " ")) ?? 0)])
  }

  private func hide(_ secret: [UInt8], bytes: [UInt8], isHidden: inout [Bool]) {
    guard bytes.count >= secret.count else { return }
    for start in 0...(bytes.count - secret.count) {
      let end = start + secret.count
      guard bytes[start..<end].elementsEqual(secret) else { continue }
      let isWord = !(start > 0 && bytes[start - 1].isWord) && !(end < bytes.count && bytes[end].isWord)
      guard isWord || secret.count >= Self.minLength else { continue }
      for index in start..<end { isHidden[index] = true }
    }
  }

  private func hideTokens(_ bytes: [UInt8], isHidden: inout [Bool]) {
    var start = 0
    while start < bytes.count {
      let end = bytes[start...].firstIndex { !$0.isTokenByte } ?? bytes.count
      let run = bytes[start..<end]
      let isMixed =
        run.contains { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && run.contains(where: \.isLetter)
      if run.count >= Self.tokenLength, isMixed { for index in run.indices { isHidden[index] = true } }
      start = max(end, start) + 1
    }
  }
}

extension [String] {
  /// The texts without any of these secrets, plain or encoded.
  func masking(_ secrets: [String]) -> [String] { SecretMask(secrets).masked(self) }
}

extension [UInt8] {
  /// Ways in which another program may write a secret.
  fileprivate var notations: [[UInt8]] {
    // The text is decoded before it is searched.
    let plain = [self, map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }, inJSON, inHTML]
    // A client's secret is form-encoded before it is sent by HTTP Basic.
    let encoded = Array(String(decoding: self, as: UTF8.self).formEncoded.utf8)
    return plain + plain.map(\.percentDecoded)
      + [self, encoded].flatMap { bytes in (0..<3).flatMap { bytes.base64(offset: $0) } + bytes.wholeBase64.inURL }
  }

  private var inJSON: [UInt8] {
    flatMap { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), $0] : [$0] }
  }

  private var inHTML: [UInt8] {
    reduce(into: []) { text, byte in
      switch byte {
      case UInt8(ascii: "&"): text += "&amp;".utf8
      case UInt8(ascii: "<"): text += "&lt;".utf8
      case UInt8(ascii: ">"): text += "&gt;".utf8
      case UInt8(ascii: "\""): text += "&quot;".utf8
      case UInt8(ascii: "'"): text += "&#39;".utf8
      default: text.append(byte)
      }
    }
  }

  /// The last digit depends on the end of the text that was encoded.
  private var wholeBase64: [UInt8] { [UInt8](Data(self).base64EncodedData()).filter { $0 != UInt8(ascii: "=") } }

  /// The digits in both alphabets.
  private var inURL: [[UInt8]] {
    [
      self,
      map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 },
    ]
  }

  /// The digits that the bytes of the text alone decide, wherever it is in the text that was encoded.
  private func base64(offset: Int) -> [[UInt8]] {
    let bytes = [UInt8](repeating: 0, count: offset) + self
    return [UInt8](Data(bytes).base64EncodedData()[(offset * 8 + 5) / 6..<bytes.count * 8 / 6]).inURL
  }
}

extension [UInt8] {
  /// Each %XX decoded, also if it was encoded twice.
  fileprivate var percentDecoded: [UInt8] {
    var decoded = self
    for _ in 0..<3 {
      let once = decoded.percentDecoded()
      guard once.count < decoded.count else { break }
      decoded = once
    }
    return decoded
  }
}

extension UInt8 {
  fileprivate var isLetter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...: true
    default: false
    }
  }

  fileprivate var isWord: Bool { isLetter || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  fileprivate var isTokenByte: Bool { isWord && self < 0x80 || "-_+=~".utf8.contains(self) }
}

/// Text that no log, status, event or error may show: whatever prints or dumps it sees "…redacted…".
package struct Secret: Sendable, Hashable {
  private let text: String

  /// Makes a secret of any text, even of an empty one.
  package init(_ text: String) {
    self.text = text
  }

  /// Compares the bytes: upstream knows nothing of texts that Unicode considers equal.
  package static func == (one: Secret, other: Secret) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

  /// Hashes the bytes.
  package func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
  }

  /// The text itself: for the request or the store that needs it, and for nothing else.
  package func reveal() -> String { text }

  /// True if a header can contain the text unchanged (RFC 6749 appendix A: VSCHAR). Other characters could add a
  /// header.
  var fitsHeader: Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Text for `print` and string interpolation.
  package var description: String { "…redacted…" }
  /// Text for a debugger and `String(reflecting:)`.
  package var debugDescription: String { description }
  /// An empty mirror, so that `dump` shows nothing of the text.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
