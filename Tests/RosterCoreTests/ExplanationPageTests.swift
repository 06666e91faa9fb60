import FoundationEssentials
import Testing

@testable import RosterCore

@Suite("rosterctl(1): the text of explain")
struct ExplanationPageTests {
  @Test("The man page has each meaning and each next step, word for word and in the code's order")
  func section() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let page = try String(contentsOfFile: root.appending(path: "man/rosterctl.1").path, encoding: .utf8)
    let section = try #require(page.split(separator: "\n.Sh ").first { $0.hasPrefix("EXPLANATIONS") })
    // Each item is preceded by a title, which only the page has.
    let items = section.split(separator: "\n.It ").dropFirst().map { item in
      Self.plain(item.split(separator: "\n").dropFirst().filter { $0 != ".El" }.joined(separator: " "))
    }
    let expected = Diagnosis.Kind.allCases.map { "\($0.text.meaning) \($0.text.todo)" }
    #expect(items.count == expected.count)
    for (item, expected) in zip(items, expected) { #expect(item == expected, "\(Self.roff(expected))") }
  }

  /// The text for the page if it is missing there: each sentence on a line of its own.
  private static func roff(_ text: String) -> String {
    text.replacing(/\{([a-z]+)\}/) { "\\fI\($0.1)\\fR" }.replacing(". ", with: ".\n")
  }

  private static func plain(_ text: String) -> String {
    text.replacing(/\\fI([a-z]+)\\fR/) { "{\($0.1)}" }
  }
}
