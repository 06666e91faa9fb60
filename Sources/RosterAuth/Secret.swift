/// Text that no log, status, event or error may show (T9): whatever prints or dumps it sees "…redacted…".
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
