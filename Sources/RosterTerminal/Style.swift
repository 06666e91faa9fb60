internal import RosterModel

/// The meaning of a piece of text, and the colour for it (ECMA-48 SGR).
package enum Tone: Sendable {
  case plain, strong, faint, good, busy, bad

  fileprivate var code: String? {
    switch self {
    case .plain: nil
    case .strong: "1"
    case .faint: "2"
    case .good: "32"
    case .busy: "33"
    case .bad: "31"
    }
  }
}

extension ChangeKind {
  var tone: Tone {
    switch self {
    case .added: .good
    case .changed: .busy
    case .removed: .bad
    }
  }
}

extension String {
  /// The text in the colour of its tone; unchanged without colour.
  func toned(_ tone: Tone, colour: Bool) -> String {
    guard colour, let code = tone.code else { return self }
    return "\u{1b}[\(code)m\(self)\u{1b}[0m"
  }

  /// The line cut to at most `width` cells. It may contain colours; a line that is cut loses them.
  func cut(to width: Int, _ colour: Bool) -> String {
    let plain = colour ? replacing(/\u{1b}\[[0-9;]*m/, with: "") : self
    return plain.cells > width ? plain.cut(to: width) : self
  }

  func padded(left width: Int) -> String {
    String(repeating: " ", count: Swift.max(0, width - cells)) + self
  }

  func padded(right width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - cells))
  }

  /// Lines of at most `width` cells, broken at spaces, but not between a number and its unit. A longer word gets a line
  /// of its own and is not broken, so that it can be copied.
  func wrapped(_ width: Int) -> [String] {
    var lines: [String] = []
    for word in unbreakable {
      if let line = lines.last, line.cells + 1 + word.cells <= width {
        lines[lines.count - 1] = line + " " + word
      } else {
        lines.append(word)
      }
    }
    return lines
  }

  private var unbreakable: [String] {
    var words: [String] = []
    for word in split(separator: " ", omittingEmptySubsequences: false) {
      if let last = words.last, last.last?.isNumber == true, HumanFormat.isUnit(word.prefix { $0.isLetter }) {
        words[words.count - 1] = last + " " + word
      } else {
        words.append(String(word))
      }
    }
    return words
  }
}
