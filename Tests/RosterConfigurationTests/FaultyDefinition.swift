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

/// The rows of a table of faults: the lines of a text, then "=> " and the sentence about it.
func faultTable(_ table: String) -> [(text: String, sentence: String)] {
  var text: [Substring] = []
  return table.split(separator: "\n", omittingEmptySubsequences: false).compactMap { line in
    guard line.hasPrefix("=> ") else {
      text.append(line)
      return nil
    }
    defer { text = [] }
    return (text.joined(separator: "\n"), String(line.dropFirst(3)))
  }
}

extension Workspace {
  /// Expects exactly one fault, after the file's name.
  func expect(_ sentence: String, text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let faults = try faults(text)
    #expect(faults == ["rosterd.toml:\(sentence)"], sourceLocation: sourceLocation)
    #expect(!faults.joined().contains("geheim"), sourceLocation: sourceLocation)
  }
}
