import FoundationEssentials
import RosterCore
import RosterDecode

@testable import RosterDefinition

/// The content that rosterd reads in a file, as one line of JSON for a comparison with another program.
enum Reading {
  static func of(_ path: String, as format: String) -> String {
    guard let bytes = FileManager.default.contents(atPath: path) else { return "no file" }
    let value = format == "json" ? try? JSONValue(json: bytes) : toml(Array(bytes))
    guard let value else { return "refused" }
    var json = JSONWriter()
    json.value(value)
    return json.text
  }

  private static func toml(_ bytes: [UInt8]) -> JSONValue? {
    guard let text = String(validating: bytes, as: UTF8.self), let document = try? TOMLDocument(text) else {
      return nil
    }
    return value(.table(document.items))
  }

  /// A scalar becomes an object with its type and its text.
  private static func value(_ item: TOMLItem) -> JSONValue {
    switch item {
    case .string(let text): .text(text)
    case .boolean(let flag): .boolean(flag)
    case .integer(let number): .object([.init("integer", .text("\(number)"))])
    case .float(let number): .object([.init("float", .text("\(number)"))])
    case .date: .object([.init("date", .null)])
    case .list(let items): .list(items.map(value))
    case .table(let members): .object([.init("table", .object(members.list.map { .init($0.name, value($0.item)) }))])
    }
  }
}
