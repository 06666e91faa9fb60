import FoundationEssentials
import RosterModel
import Testing

@testable import RosterExplanation

@Suite("rosterctl(1): what explain says")
struct ManPageTests {
  @Test("The man page has each meaning and each next step, word for word and in the code's order")
  func section() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let page = try String(contentsOfFile: root.appending(path: "man/rosterctl.1").path, encoding: .utf8)
    let section = try #require(page.split(separator: "\n.Sh ").first { $0.hasPrefix("EXPLANATIONS") })
    let items = section.split(separator: "\n.It Xo\n").dropFirst().map { item in
      item.split(separator: "\n.El").prefix(1).joined().split(separator: "\n.Xc\n").map(Self.plain)
    }
    let expected = Trouble.Kind.allCases.map { [$0.text.meaning, $0.text.todo] }
    #expect(items.count == expected.count)
    for (item, expected) in zip(items, expected) { #expect(item == expected, "\(Self.roff(expected))") }
  }

  /// What to write where it is missing: each sentence on a line of its own.
  private static func roff(_ item: [String]) -> String {
    let texts = item.map { text in
      text.replacing(/\{([a-z]+)\}/) { "\\fI\($0.1)\\fR" }.replacing(". ", with: ".\n")
    }
    return "\n.It Xo\n\(texts[0])\n.Xc\n\(texts[1])"
  }

  private static func plain(_ text: some StringProtocol) -> String {
    String(text).replacing(/\\fI([a-z]+)\\fR/) { "{\($0.1)}" }.replacing("\n", with: " ")
  }
}
