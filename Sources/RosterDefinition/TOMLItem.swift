package import RosterCore

/// A value of TOML, independent of the parser. The cache stores the same values as JSON.
package enum TOMLItem: Sendable, Equatable {
  case string(String)
  case integer(Int)
  case float(Double)
  case boolean(Bool)
  /// A date, a time, or both. No key accepts one.
  case date
  case list([TOMLItem])
  case table(TOMLMembers)
}

/// The keys of a table with their values, in the file's order.
package struct TOMLMembers: Sendable, Equatable {
  /// A key with its value.
  package struct Member: Sendable, Equatable {
    /// The key, unescaped.
    package var name: String
    /// The value.
    package var item: TOMLItem
  }

  /// The members in the file's order.
  package var list: [Member] = []
  /// True if each key is written in quotes.
  var quotesNames = false

  /// Makes a table.
  package init(_ list: [Member] = [], quotesNames: Bool = false) {
    self.list = list
    self.quotesNames = quotesNames
  }

  /// Names are compared byte by byte.
  package subscript(name: String) -> TOMLItem? { list.first { $0.name.utf8.elementsEqual(name.utf8) }?.item }
}

extension TOMLMembers: ExpressibleByDictionaryLiteral {
  /// The members in the order of the literal.
  package init(dictionaryLiteral elements: (String, TOMLItem)...) {
    list = elements.map { Member(name: $0.0, item: $0.1) }
  }
}

extension TOMLItem {
  /// The value in TOML's notation, a table inline.
  package var toml: String {
    switch self {
    case .string(let text): text.tomlString
    case .integer(let number): "\(number)"
    case .float(let number): "\(number)"
    case .boolean(let flag): "\(flag)"
    case .date: "".tomlString
    case .list(let items): "[\(items.map(\.toml).joined(separator: ", "))]"
    case .table(let members):
      members.list.isEmpty
        ? "{}"
        : "{ \(members.list.map { "\(members.quotesNames ? $0.name.tomlString : $0.name.tomlKey) = \($0.item.toml)" }.joined(separator: ", ")) }"
    }
  }

  /// The value in JSON. TOML has no null, so that no value becomes one.
  package var json: JSONValue {
    switch self {
    case .string(let text): .text(text)
    case .integer(let number): .integer(number)
    case .float(let number): .number(number.description)
    case .boolean(let flag): .boolean(flag)
    case .date: .text("")
    case .list(let items): .list(items.map(\.json))
    case .table(let members): .object(members.list.map { .init($0.name, $0.item.json) })
    }
  }

  /// A value of JSON. Null is an omitted key: "".
  package init(json: JSONValue) {
    switch json {
    case .null: self = .string("")
    case .boolean(let flag): self = .boolean(flag)
    case .number(let digits): self = Int(digits).map(TOMLItem.integer) ?? .float(Double(digits) ?? .nan)
    case .text(let text): self = .string(text)
    case .list(let values): self = .list(values.map(TOMLItem.init))
    case .object(let members):
      self = .table(TOMLMembers(members.map { TOMLMembers.Member(name: $0.name, item: TOMLItem(json: $0.value)) }))
    }
  }
}
