import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: reading and printing `null` of a column")
struct NullTests {
  let workspace = Workspace()

  private func load(_ columns: String) throws -> (configuration: Configuration, warnings: [String]) {
    let text =
      "[upstream]\nbase_url = \"http://localhost:1\"\n[resource.thing]\npath = \"/things\"\ncolumns = { \(columns) }\n"
    return try Configuration.load(file: try workspace.write(text), environment: [:], isRoot: true)
  }

  @Test("check prints no `null` for an integer key, which is never NULL; for other columns it prints the value")
  func printed() throws {
    let columns = #"id = { at = "/id", type = "integer" }, size = { at = "/size", type = "integer" }, note = "/note""#
    let (configuration, warnings) = try load(columns)
    let text = configuration.rendered()
    #expect(text.contains(#"id = { at = "/id", type = "integer" }"# + "\n"), "\(text)")
    #expect(text.contains(#"size = { at = "/size", type = "integer", null = true }"#) && warnings.isEmpty)
    #expect(try workspace.load(text) == configuration)
  }

  @Test("`null` may be a list of values, and a key has none")
  func values() throws {
    let columns =
      #"id = { at = "/id", null = [""] }, day = { at = "/day", type = "timestamp", null = ["", "0000-00-00"] }"#
    let (configuration, warnings) = try load(columns)
    #expect(configuration.rendered().contains(#"null = ["", "0000-00-00"]"#))
    #expect(try workspace.load(configuration.rendered()) == configuration)
    #expect(warnings == ["resource.thing.columns.id.null has no effect: a key is never NULL"])
  }

  @Test("`null = true` of a text key has no effect, and that is a warning")
  func textKey() throws {
    let warnings = try load(#"id = { at = "/id", null = true }"#).warnings
    #expect(warnings == ["resource.thing.columns.id.null has no effect: a key is never NULL"])
  }

  @Test(
    "`null = true` is accepted for every type, as an earlier check printed it", arguments: ["integer", "real", "json"])
  func accepted(type: String) throws {
    let columns =
      #"id = { at = "/id", type = "integer", null = true }, x = { at = "/x", type = "\#(type)", null = true }"#
    #expect(try load(columns).warnings.isEmpty)
  }
}
