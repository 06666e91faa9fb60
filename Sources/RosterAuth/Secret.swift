/// Text that no log, status, event or error may show (T9): whatever prints or dumps it sees "…redacted…".
package struct Secret: Sendable, Hashable {
  private let text: String

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
  package var description: String { "…redacted…" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
