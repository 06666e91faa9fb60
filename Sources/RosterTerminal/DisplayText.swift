internal import RosterModel

extension String {
  /// Number of terminal cells that the text takes.
  var cells: Int { isPrintableASCII ? utf8.count : reduce(0) { $0 + Self.cells(of: $1) } }

  /// The text, cut to at most `width` cells; `…` marks the cut.
  func cut(to width: Int) -> String {
    guard cells > width else { return self }
    var room = width - 1
    let kept = prefix { character in
      room -= Self.cells(of: character)
      return room >= 0
    }
    return kept + "…"
  }

  /// The text without characters that control a terminal. Line ends and tabs become spaces, and a run of them becomes
  /// one space.
  var oneLine: String {
    if isPrintableASCII { return self }
    let parts = unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: Self.blanks.contains)
    let ends = [0, parts.count - 1]
    return parts.enumerated().filter { !$1.isEmpty || ends.contains($0) }.map { String($1) }.joined(separator: " ")
      .printable
  }

  /// Scalars that end a line or move to another column.
  private static let blanks: Set<Unicode.Scalar> = [
    "\n", "\r", "\t", "\u{0B}", "\u{0C}", "\u{85}", "\u{2028}", "\u{2029}",
  ]

  private static func cells(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    if scalars.contains(where: { $0 == "\u{FE0F}" || $0.properties.isEmojiPresentation }) { return 2 }
    return scalars.map { cells(of: $0) }.max() ?? 0
  }

  private static func cells(of scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: 0
    default: wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
  }

  /// Blocks of characters that are wide or full-width in every font (UAX 11, East_Asian_Width W and F).
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1B000...0x1B2FF,
    0x20000...0x3FFFD,
  ]
}
