import FoundationEssentials
import Testing

@testable import RosterCore
@testable import RosterDefinition

@Suite("Configuration: rosterd.toml(5)")
struct ManPageTests {
  @Test("The man page has every key in the file's order, with its default and whether it needs a restart")
  func keys() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../man/rosterd.toml.5").path
    let page = try String(contentsOfFile: path, encoding: .utf8)
    let documented = page.split(separator: "\n.It Cm ").dropFirst().compactMap(Entry.init)
    #expect(documented.filter { !$0.name.hasPrefix("resource.") } == ConfigurationKey.all.map(Entry.init))
    #expect(documented.filter { $0.name.hasPrefix("resource.") } == Self.definition)
  }

  /// Every key of a definition, with its default.
  private static let definition: [Entry] =
    entries("resource.NAME.", keys: Resource.keys, in: Resource(name: "", path: "", columns: []))
    + entries("resource.NAME.pages.", keys: Resource.Pages.keys, in: Resource.Pages())
    + entries("resource.NAME.since.", keys: Since.keys, in: Since(listing: listing))
    + [Entry(name: "resource.NAME.since.pages", value: "{}")]
    + entries("resource.NAME.each.", keys: Each.keys, in: Each(of: ""))
    + entries("resource.NAME.columns.COLUMN.", keys: Resource.Column.keys, in: column)
    + entries("resource.NAME.lists.TABLE.", keys: Resource.List.keys, in: list)
    + [Entry(name: "resource.NAME.lists.TABLE.columns", value: "{}")]

  private static let listing = Resource(name: "", path: "", columns: []).listing
  private static let column = Resource.Column("", at: JSONPointer())
  private static let list = Resource.List(table: "", at: JSONPointer(), columns: [])

  private static func entries<Table>(_ prefix: String, keys: [DefinitionKey<Table>], in table: Table) -> [Entry] {
    keys.map { Entry(name: prefix + $0.name, value: $0.defaultText(in: table)) }
  }

  @Test("The man page has the sentence of each key of a definition")
  func sentences() throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../man/rosterd.toml.5").path
    let page = Self.plain(try String(contentsOfFile: path, encoding: .utf8))
    let sentences =
      Resource.keys.map(\.doc) + Resource.Pages.keys.map(\.doc) + Since.keys.map(\.doc) + Each.keys.map(\.doc)
      + Resource.Column.keys.map(\.doc) + Resource.List.keys.map(\.doc)
    for sentence in sentences { #expect(page.contains(Self.plain(sentence)), "\(sentence)") }
  }

  /// The words of a text, without macros and marks.
  private static func plain(_ text: String) -> String {
    let macro = #/^\.[A-Z][a-z] /#
    let lines = text.split(separator: "\n").map { $0.replacing(macro, with: "").replacing("\\(dq", with: "") }
    return lines.joined(separator: " ").filter { $0.isLetter || $0.isNumber }
  }
}

/// A key with its facts from the page and from the list of keys.
private struct Entry: Equatable {
  var name: String
  var value: String
  var needsRestart = false

  init(name: String, value: String) { (self.name, self.value) = (name, value) }

  /// `sync.interval No = \(dq15m\(dq` and the text below it; nil for an item that is not about a key.
  init?(_ text: Substring) {
    let lines = text.split(separator: "\n", maxSplits: 1)
    let words = lines[0].split(separator: " ", maxSplits: 3)
    guard words.count == 4, words[1] == "No", words[2] == "=" else { return nil }
    name = String(words[0])
    value = String(words[3].replacing("\\(dq", with: "\""))
    needsRestart = lines.last?.contains("Needs a restart.") == true
  }

  init(_ key: ConfigurationKey) {
    (name, value, needsRestart) = (key.name, key.defaultValue, key.needsRestart)
  }
}
