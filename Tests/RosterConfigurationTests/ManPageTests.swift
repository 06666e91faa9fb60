import FoundationEssentials
import Testing

@testable import RosterConfiguration

@Suite("Section 2: rosterd.toml(5)")
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
    entries("resource.NAME.", keys: ResourceDraft.keys, draft: ResourceDraft())
    + entries("resource.NAME.pages.", keys: PagesDraft.keys, draft: PagesDraft())
    + entries("resource.NAME.since.", keys: SinceDraft.keys, draft: SinceDraft())
    + [Entry(name: "resource.NAME.since.pages", value: "{}")]
    + entries("resource.NAME.each.", keys: EachDraft.keys, draft: EachDraft())
    + entries("resource.NAME.columns.COLUMN.", keys: ColumnDraft.keys, draft: ColumnDraft())
    + entries("resource.NAME.lists.TABLE.", keys: ListDraft.keys, draft: ListDraft())
    + [Entry(name: "resource.NAME.lists.TABLE.columns", value: "{}")]

  private static func entries<Draft>(_ table: String, keys: [DefinitionKey<Draft>], draft: Draft) -> [Entry] {
    keys.map { Entry(name: table + $0.name, value: $0.write(draft) ?? "\"\"") }
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
