import RosterTestSupport
import Testing

/// The surrounding text of the faulty definitions.
enum FaultyDefinition {
  /// Two lines.
  static let start = "[resource.thing]\npath = \"/things\"\n"
  /// Three lines.
  static let columns =
    "[resource.thing.columns]\nid = { at = \"/id\", type = \"integer\" }\nname = \"/name\"\n"
}

extension Workspace {
  /// Expects exactly one fault, after the file's name.
  func expect(_ sentence: String, text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let faults = try faults(text)
    #expect(faults == ["rosterd.toml:\(sentence)"], sourceLocation: sourceLocation)
    #expect(!faults.joined().contains("geheim"), sourceLocation: sourceLocation)
  }
}
