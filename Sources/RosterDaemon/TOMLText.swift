import TOMLKit

/// A TOML document as settings, with the line of each.
struct TOMLText {
  struct SyntaxFault: Error {
    var line: Int
    var problem: String
  }

  let root: [String: Setting]
  private let lines: [Substring]

  init(_ text: String) throws(SyntaxFault) {
    root = try Self.parse(text)
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// One value in TOML syntax, as environment variables hold lists and tables.
  static func value(_ text: String) throws(SyntaxFault) -> Setting {
    let document = try parse("value = \(text)")
    guard document.count == 1, let value = document["value"] else {
      throw SyntaxFault(line: 1, problem: "is not one value")
    }
    return value
  }

  /// The line on which the value begins, from 1. TOMLKit keeps no places of values, but each whole statement makes the text up to its
  /// end a document: the value begins behind the longest document that lacks it.
  func line(of path: [String]) -> Int? {
    var before = 0
    for count in 1...max(1, lines.count) {
      guard let root = try? Self.parse(lines.prefix(count).joined(separator: "\n")) else { continue }
      if Self.contains(path, in: .table(root)) { return before + 1 }
      before = count
    }
    return nil
  }

  private static func contains(_ path: [String], in setting: Setting) -> Bool {
    guard let name = path.first else { return true }
    guard case .table(let members) = setting, let member = members[name] else { return false }
    return contains(Array(path.dropFirst()), in: member)
  }

  private static func parse(_ text: String) throws(SyntaxFault) -> [String: Setting] {
    do {
      return members(of: try TOMLTable(string: text))
    } catch let error as TOMLParseError {
      throw SyntaxFault(line: error.source.begin.line, problem: error.description)
    } catch {
      throw SyntaxFault(line: 1, problem: "\(error)")
    }
  }

  private static func members(of table: TOMLTable) -> [String: Setting] {
    Dictionary(uniqueKeysWithValues: table.keys.map { ($0, setting(table[$0])) })
  }

  private static func setting(_ value: (any TOMLValueConvertible)?) -> Setting {
    guard let value else { return .other("nothing") }
    switch value.type {
    case .string: return .string(value.string ?? "")
    case .int: return value.int.map(Setting.integer) ?? .other("number out of range")
    case .table: return value.table.map { .table(members(of: $0)) } ?? .table([:])
    case .array: return .list(value.array.map { $0.map { setting($0) } } ?? [])
    default: return .other(value.type.description)
    }
  }
}
