import TOMLKit

/// A value of TOML, free of the parser that read it.
enum TOMLItem: Sendable, Equatable {
  case string(String)
  case integer(Int)
  case float(Double)
  case boolean(Bool)
  /// A date, a time, or both: no key takes one.
  case date
  case list([TOMLItem])
  case table([String: TOMLItem])
}

/// A file of TOML and where its keys stand. The one importer of TOMLKit.
struct TOMLDocument {
  struct SyntaxError: Error, Equatable {
    var line: Int
    var cause: String
  }

  let items: [String: TOMLItem]
  private let text: String

  /// - Parameter known: words that a syntax error may repeat; any other text in it may be a secret (T9).
  init(_ text: String, known: Set<String> = []) throws(SyntaxError) {
    // TOMLKit hands text over as C strings: a NUL would cut a file or a value short, and trap in a key.
    // A key of ten thousand parts is as many calls deep, here and in the parser, which limits only brackets.
    var extent = TOMLStatement()
    for (index, row) in Self.rows(of: text).enumerated() {
      if Self.holdsNUL(row) { throw SyntaxError(line: index + 1, cause: "NUL in the text") }
      _ = extent.ends(with: row)
      if extent.mostDots >= Self.mostParts {
        throw SyntaxError(line: index + 1, cause: "a key of more than \(Self.mostParts) parts")
      }
    }
    do {
      items = try Self.parse(text)
    } catch let error as TOMLParseError {
      throw SyntaxError(
        line: error.source.begin.line, cause: Self.withoutQuotes(error.description, except: known).lowercasedFirst)
    } catch {
      throw SyntaxError(line: 1, cause: "unknown")
    }
    self.text = text
  }

  /// One value in TOML's notation, as an environment variable holds it; nil: it is none, or more than one.
  static func item(_ text: String) -> TOMLItem? {
    guard let document = try? TOMLDocument("value = \(text)"), document.items.count == 1 else { return nil }
    return document.items["value"]
  }

  /// The line, from 1, on which each path of keys first stands; for a value of many lines the first.
  ///
  /// The parser keeps no positions of values. So each statement is parsed by itself, once, and shows what it defines
  /// below its table.
  func lines() -> [[String]: Int] {
    var found: [[String]: Int] = [:]
    var table: [String] = []
    var statement = ""
    var first = 1
    var extent = TOMLStatement()
    for (index, row) in Self.rows(of: text).enumerated() {
      if statement.isEmpty {
        if Self.isBlank(row) { continue }
        first = index + 1
      }
      statement += row + "\n"
      guard extent.ends(with: row), let items = try? Self.parse(statement) else { continue }
      let isHeader = statement.drop(while: \.isWhitespace).hasPrefix("[")
      if isHeader { table = [] }
      let paths = Self.paths(of: items, below: table)
      for path in paths where found[path] == nil { found[path] = first }
      if isHeader { table = paths.max { $0.count < $1.count } ?? [] }
      statement = ""
      extent = TOMLStatement()
    }
    return found
  }

  private static func paths(of items: [String: TOMLItem], below: [String] = []) -> [[String]] {
    items.flatMap { name, item -> [[String]] in
      let path = below + [name]
      guard case .table(let inner) = item else { return [path] }
      return [path] + paths(of: inner, below: path)
    }
  }

  private static func parse(_ text: String) throws -> [String: TOMLItem] {
    let table = try TOMLTable(string: text)
    // TOMLKit never frees a table; this frees what is in it.
    defer { table.clear() }
    return items(of: table)
  }

  private static func items(of table: TOMLTable) -> [String: TOMLItem] {
    var items: [String: TOMLItem] = [:]
    for key in table.keys { items[key] = table[key].map(item) }
    return items
  }

  private static func item(_ value: any TOMLValueConvertible) -> TOMLItem {
    if let text = value.string { return .string(text) }
    if let number = value.int { return .integer(number) }
    if let number = value.double { return .float(number) }
    if let flag = value.bool { return .boolean(flag) }
    if let list = value.array { return .list(list.map(item)) }
    if let table = value.table { return .table(items(of: table)) }
    return .date
  }

  /// By bytes: a String takes CR LF for one character, which is no line feed.
  private static func rows(of text: String) -> [String] {
    text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { String(Substring($0)) }
  }

  /// Of a dotted key. No key of ours has more.
  private static let mostParts = 10

  private static func isBlank(_ row: String) -> Bool {
    row.utf8.first { !" \t\r".utf8.contains($0) }.map { $0 == UInt8(ascii: "#") } ?? true
  }

  private static func holdsNUL(_ row: String) -> Bool {
    row.utf8.contains(0) || row.contains("\\u0000") || row.contains("\\U00000000")
  }

  private static func withoutQuotes(_ text: String, except known: Set<String>) -> String {
    guard let open = text.firstIndex(of: "'"), let close = text.lastIndex(of: "'"), open < close else { return text }
    let quoted = text[text.index(after: open)..<close]
    guard quoted.count > 1, !known.contains(String(quoted)) else { return text }
    return text[...open] + "…" + text[close...]
  }
}

extension String {
  /// For a sentence of the parser's that goes on from one of ours.
  fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
