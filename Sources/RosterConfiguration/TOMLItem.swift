/// A value of TOML, independent of the parser.
enum TOMLItem: Sendable, Equatable {
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
struct TOMLMembers: Sendable, Equatable {
  struct Member: Sendable, Equatable {
    var name: String
    var item: TOMLItem
  }

  var list: [Member] = []

  /// Names are compared byte by byte.
  subscript(name: String) -> TOMLItem? { list.first { $0.name.utf8.elementsEqual(name.utf8) }?.item }
}

extension TOMLMembers: ExpressibleByDictionaryLiteral {
  init(dictionaryLiteral elements: (String, TOMLItem)...) {
    list = elements.map { Member(name: $0.0, item: $0.1) }
  }
}
