import RosterCore
import RosterDecode
import Testing

@Suite struct PrintableJSONTests {
  @Test("JSON for a terminal has the same meaning in escapes, and a line remains a line")
  func escapes() throws {
    let text = "a\u{1b}]0;title\u{7}b\u{9b}31mc\u{7f}d\u{202e}e\u{2066}f\u{2028}g\u{85}h\u{200b}i\u{e0041}j"
    let shown = (#"{"name":"\#(text)"}"# + "\n").printableJSON
    #expect(
      shown == #"{"name":"a\u001b]0;title\u0007b\u009b31mc\u007fd\u202ee\u2066f\u2028g\u0085h\u200bi\udb40\udc41j"}"#
        + "\n")
    #expect(try JSONValue(json: shown.utf8)["name"] == .text(text))
    #expect(#"{"a":"é"}"#.printableJSON == #"{"a":"é"}"#)
  }
}
