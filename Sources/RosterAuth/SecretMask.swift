import FoundationEssentials
import RosterModel

/// Finds credentials in a text that another program wrote, also encoded or cut (T14.1).
struct SecretMask {
  /// A shorter secret is looked for as a whole.
  private static let pieceLength = 12
  /// A secret of fewer bytes is masked as a word of its own only: any text has such letters.
  private static let minLength = 4
  /// More of a text is not shown.
  private static let maxBytes = 4096
  /// A run of this many token characters counts as an unknown token.
  private static let tokenLength = 40

  private var pieces: Set<ArraySlice<UInt8>> = []
  private var whole: [[UInt8]] = []

  init(_ secrets: [String]) {
    // An empty text hides nothing, and has no digits.
    let notations = Set(secrets.filter { !$0.isEmpty }.flatMap(\.notations))
    for secret in notations where !secret.isEmpty {
      let bytes = Array(secret.utf8)
      if bytes.count < Self.pieceLength {
        whole.append(bytes)
      } else {
        for start in 0...(bytes.count - Self.pieceLength) { pieces.insert(bytes[start..<start + Self.pieceLength]) }
      }
    }
  }

  func masked(_ text: String) -> String {
    let bytes = Self.shortened(Array(text.utf8.prefix(3 * Self.maxBytes)).percentDecoded)
    var isHidden = Array(repeating: false, count: bytes.count)
    hidePieces(bytes, isHidden: &isHidden)
    for secret in whole { hide(secret, bytes: bytes, isHidden: &isHidden) }
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

  /// Without a last word that is cut.
  private static func shortened(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count > maxBytes else { return bytes }
    let kept = bytes.prefix(maxBytes)
    return Array(kept[..<(kept.lastIndex(of: UInt8(ascii: " ")) ?? 0)])
  }

  private func hidePieces(_ bytes: [UInt8], isHidden: inout [Bool]) {
    guard !pieces.isEmpty, bytes.count >= Self.pieceLength else { return }
    for start in 0...(bytes.count - Self.pieceLength) {
      let range = start..<start + Self.pieceLength
      if pieces.contains(bytes[range]) { for index in range { isHidden[index] = true } }
    }
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

extension String {
  /// The text without any of these secrets, plain or encoded.
  func masking(_ secrets: [String]) -> String { SecretMask(secrets).masked(self) }

  /// Ways in which another program may write a secret.
  fileprivate var notations: [String] {
    let json = utf8.reduce(into: "") { text, byte in
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text += "\\" }
      text.unicodeScalars.append(UnicodeScalar(byte))
    }
    // The text is decoded before it is searched.
    let plain = [self, replacing(" ", with: "+"), json, inHTML]
    // A client's secret is form-encoded before it is sent by HTTP Basic.
    return plain + plain.map { String(decoding: Array($0.utf8).percentDecoded, as: UTF8.self) }
      + [self, formEncoded].flatMap { text in
        (0..<3).flatMap { text.base64(offset: $0) } + text.urlSafe(text.wholeBase64)
      }
  }

  private var inHTML: String {
    let entities = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")]
    return entities.reduce(self) { $0.replacing($1.0, with: $1.1) }
  }

  /// The last digit depends on the end of the text that was encoded.
  private var wholeBase64: String { Data(utf8).base64EncodedString().replacing("=", with: "") }

  private func urlSafe(_ digits: String) -> [String] {
    [digits, digits.replacing("+", with: "-").replacing("/", with: "_")]
  }

  /// The digits that the bytes of the text alone decide, wherever it is in the text that was encoded.
  private func base64(offset: Int) -> [String] {
    let bytes = [UInt8](repeating: 0, count: offset) + utf8
    let digits = Array(Data(bytes).base64EncodedString())
    return urlSafe(String(digits[(offset * 8 + 5) / 6..<bytes.count * 8 / 6]))
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
