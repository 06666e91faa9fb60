/// Text that no log, status, event or error may show (T9): whatever prints or dumps it sees "…redacted…".
package struct Secret: Sendable, Hashable {
  private let text: String

  /// Of any text, also an empty one.
  package init(_ text: String) {
    self.text = text
  }

  /// The text itself: for the request or the store that needs it, and for nothing else.
  package func reveal() -> String { text }

  /// Whether it can stand in a header as it is (RFC 6749 appendix A: VSCHAR); anything else could forge one.
  var fitsHeader: Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// What `print` and string interpolation show.
  package var description: String { "…redacted…" }
  /// What a debugger and `String(reflecting:)` show.
  package var debugDescription: String { description }
  /// What `dump` shows: nothing of the text.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
