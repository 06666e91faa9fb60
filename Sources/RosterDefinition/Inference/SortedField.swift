import RosterCore

/// A field by whose values the records of an answer are sorted, so that a request may ask for the records after one.
struct SortedField {
  let at: JSONPointer
  private let texts: [String]

  /// The sorted fields among those of the columns, the key first.
  static func all(of columns: [Resource.Column], key: JSONPointer, in records: [JSONValue]) -> [SortedField] {
    let values = FieldValues(at: columns.map(\.at), in: records).all
    let fields = zip(columns, values).compactMap { SortedField($0.at, values: $1, of: records.count) }
    return fields.filter { $0.at == key } + fields.filter { $0.at != key }
  }

  /// nil if the records are not sorted by it, or have the same value.
  private init?(_ at: JSONPointer, values: [JSONValue], of count: Int) {
    self.at = at
    texts = values.filter(\.isScalar).map(\.queryText)
    guard texts.count == count, SortOrder(texts) != nil else { return nil }
  }

  /// True if the records follow this value in an order, or begin with it.
  func begins(at value: String, in order: SortOrder) -> Bool {
    guard let first = texts.first, first.first?.isNumber == value.first?.isNumber,
      (Double(first) == nil) == (Double(value) == nil)
    else { return false }
    return SortOrder([value] + texts) == order
  }

  /// True if the first record has this value.
  func isFirst(_ value: String) -> Bool { texts.first == value }
}

enum SortOrder {
  case rising, falling

  /// The order of values, which are numbers if all of them are. nil if they are not sorted, or all equal.
  init?(_ texts: [String]) {
    let wholes = texts.compactMap { Int64($0) }
    let reals = texts.compactMap { Double($0) }
    let order =
      wholes.count == texts.count
      ? Self.order(of: wholes) : reals.count == texts.count ? Self.order(of: reals) : Self.order(of: texts)
    guard let order else { return nil }
    self = order
  }

  private static func order(of values: [some Comparable]) -> SortOrder? {
    guard let first = values.first, let last = values.last, first != last else { return nil }
    let pairs = zip(values, values.dropFirst())
    if first < last { return pairs.allSatisfy { $0 <= $1 } ? .rising : nil }
    return pairs.allSatisfy { $0 >= $1 } ? .falling : nil
  }

  /// The order in which a parameter of that name asks for records: those after a value, or before one.
  init?(ofParameter name: String) {
    let words = Set(name.identifier.split(separator: "_").map(String.init))
    if !words.isDisjoint(with: Vocabulary.afterWords) || Vocabulary.cursorParams.contains(name.word) {
      self = .rising
    } else if !words.isDisjoint(with: Vocabulary.beforeWords) {
      self = .falling
    } else {
      return nil
    }
  }
}
