import RosterCore
import TOMLKit

/// A TOML file, and the lines of its keys. Only this file imports TOMLKit.
struct TOMLDocument {
  struct SyntaxError: Error, Equatable {
    var line: Int
    var cause: String
  }

  let items: TOMLMembers
  private let places: [[String]: TOMLKeyPlaces.Place]

  /// - Parameter known: words that a syntax error may repeat. Any other text in it may be a secret.
  init(_ text: String, known: @autoclosure () -> Set<String> = []) throws(SyntaxError) {
    var hazards = TOMLHazards()
    for (index, row) in Self.rows(of: text).enumerated() {
      if let cause = hazards.find(in: row) { throw SyntaxError(line: index + 1, cause: cause) }
    }
    do {
      let table = try TOMLTable(string: text)
      // TOMLKit never frees a table; this frees its content.
      defer { table.clear() }
      places = TOMLKeyPlaces(of: text).places
      items = Self.members(of: table, at: [], places)
    } catch let error as TOMLParseError {
      let cause = Self.withoutQuotes(error.description, except: known()).printable
      throw SyntaxError(line: error.source.begin.line, cause: cause.lowercasedFirst)
    } catch {
      throw SyntaxError(line: 1, cause: "unknown")
    }
  }

  /// One value in TOML's notation, from an environment variable; nil if it is not exactly one value.
  static func item(_ text: String) -> TOMLItem? {
    guard let document = try? TOMLDocument("value = \(text)"), document.items.list.count == 1 else { return nil }
    return document.items["value"]
  }

  /// The line, from 1, on which each path of keys occurs first. Keys inside lists have no line.
  func lines() -> [[String]: Int] {
    places.filter { !TOMLKeyPlaces.isInList($0.key) }.mapValues(\.line)
  }

  private static func members(
    of table: TOMLTable, at path: [String], _ places: [[String]: TOMLKeyPlaces.Place]
  ) -> TOMLMembers {
    let names = table.keys.map { (name: $0, order: places[path + [$0]]?.order ?? .max) }.sorted { $0.order < $1.order }
    return TOMLMembers(
      names.compactMap { name, _ in
        table[name].map { TOMLMembers.Member(name: name, item: item($0, at: path + [name], places: places)) }
      })
  }

  private static func item(
    _ value: any TOMLValueConvertible, at path: [String], places: [[String]: TOMLKeyPlaces.Place]
  ) -> TOMLItem {
    if let text = value.string { return .string(text) }
    if let number = value.int { return .integer(number) }
    if let number = value.double { return .float(number) }
    if let flag = value.bool { return .boolean(flag) }
    if let list = value.array {
      return .list(list.enumerated().map { item($1, at: path + [TOMLKeyPlaces.element($0)], places: places) })
    }
    if let table = value.table { return .table(members(of: table, at: path, places)) }
    return .date
  }

  /// Splits by bytes: in a String, CR LF is a single character that is not a line feed.
  private static func rows(of text: String) -> [String] {
    text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { String(Substring($0)) }
  }

  private static func withoutQuotes(_ text: String, except known: Set<String>) -> String {
    guard let open = text.firstIndex(of: "'"), let close = text.lastIndex(of: "'"), open < close else { return text }
    let quoted = text[text.index(after: open)..<close]
    guard quoted.count > 1, !known.contains(String(quoted)) else { return text }
    return text[...open] + "…" + text[close...]
  }
}

extension String {
  /// The text with its first letter in lower case, so that it can continue a message.
  fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
