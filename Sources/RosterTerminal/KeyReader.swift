/// A key that the user presses.
package enum Key: Sendable, Equatable {
  case up, down, pageUp, pageDown, home, end
  case letter(Unicode.Scalar)
}

/// Recognises keys in the bytes that a terminal sends (ECMA-48 §5.4 for the sequences; xterm's ctlseqs, "PC-Style
/// Function Keys", for their meaning).
package struct KeyReader: Sendable {
  private enum State {
    case ground, escape
    /// After `ESC [` or `ESC O`, with the parameters read so far.
    case sequence([UInt8])
  }

  private var state = State.ground

  /// Starts before the first byte.
  package init() {}

  /// The keys that these bytes complete. Unknown sequences are skipped.
  package mutating func keys(in bytes: some Sequence<UInt8>) -> [Key] { bytes.compactMap { key(completedBy: $0) } }

  private mutating func key(completedBy byte: UInt8) -> Key? {
    switch state {
    case .sequence(let parameters):
      // Parameters and intermediates (ECMA-48 §5.4) precede the final byte.
      if (0x20...0x3F).contains(byte) {
        state = .sequence(parameters + [byte])
        return nil
      }
      state = .ground
      return Self.key(byte, parameters: parameters)
    case .escape where byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O"):
      state = .sequence([])
      return nil
    case .escape, .ground:
      state = byte == Self.escape ? .escape : .ground
      return (0x21...0x7E).contains(byte) ? .letter(Unicode.Scalar(byte)) : nil
    }
  }

  private static let escape: UInt8 = 0x1B

  private static func key(_ final: UInt8, parameters: [UInt8]) -> Key? {
    switch (final, String(decoding: parameters, as: UTF8.self)) {
    case (UInt8(ascii: "A"), _): .up
    case (UInt8(ascii: "B"), _): .down
    case (UInt8(ascii: "H"), _), (UInt8(ascii: "~"), "1"), (UInt8(ascii: "~"), "7"): .home
    case (UInt8(ascii: "F"), _), (UInt8(ascii: "~"), "4"), (UInt8(ascii: "~"), "8"): .end
    case (UInt8(ascii: "~"), "5"): .pageUp
    case (UInt8(ascii: "~"), "6"): .pageDown
    default: nil
    }
  }
}
