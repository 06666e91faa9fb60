import RosterTestSupport
import Testing

/// What the faults of definitions are put into.
enum FaultyDefinition {
  /// Two lines.
  static let start = "[resource.thing]\npath = \"/things\"\n"
  /// Three lines.
  static let columns =
    "[resource.thing.columns]\nid = { at = \"/id\", type = \"integer\" }\nname = \"/name\"\n"
}

extension Workspace {
  /// The one fault of the text, behind the file's name.
  func expect(_ sentence: String, _ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let faults = try faults(text)
    #expect(faults == ["rosterd.toml:\(sentence)"], sourceLocation: sourceLocation)
    #expect(!faults.joined().contains("geheim"), sourceLocation: sourceLocation)
  }
}
