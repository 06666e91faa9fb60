internal import RosterJSON
internal import RosterModel

/// Makes of a stored record the document that it came from, as far as the cache knows it, cut to what another
/// definition takes: that one's decoder then reads it as if upstream had sent it.
struct StoredDocument {
  private let old: ResourceTables
  private let new: Resource
  private let lists: [Statement]

  init(_ database: Database, from old: ResourceTables, to new: Resource) throws {
    self.old = old
    self.new = new
    lists = try old.resource.lists.map { try database.once(old.select($0)) }
  }

  /// - Parameter row: of `ResourceTables.selectAll`.
  func bytes(_ row: Row) throws -> [UInt8] { fitted(try document(row)).bytes }

  /// With the key that the record has by the old definition where the new one's key is; nil: it can be none there.
  func bytes(keyed row: Row) throws -> [UInt8]? {
    if old.resource.hasCompositeKey || new.hasCompositeKey { return nil }
    let text = row.text(Int32(old.key + 1))
    guard let isText = new.keyColumn.map({ new.columns[$0].type == .text }), isText || Int64(text) != nil else {
      return nil
    }
    var key: [UInt8] = []
    if isText { JSONWriter.append(text, to: &key) } else { key = Array(text.utf8) }
    var document = fitted(try document(row))
    document.put(.whole(key), at: new.key.segments[...])
    return document.bytes
  }

  private func document(_ row: Row) throws -> WrittenJSON {
    let columns = old.resource.columns
    var document = Self.extra(row, at: columns.count + 1) ?? .object([])
    for (index, column) in columns.enumerated() {
      guard let value = value(of: column, row, at: index + 1) else { continue }
      document.put(value, at: column.at.segments[...])
    }
    for (list, statement) in zip(old.resource.lists, lists) {
      let elements = try statement.rows([.integer(row.integer(0))]) { element(of: list, $0) }
      // Whether upstream sends an empty list, or none, is not known.
      if !elements.isEmpty { document.put(.list(elements), at: list.at.segments[...]) }
    }
    return document
  }

  private static func extra(_ row: Row, at index: Int) -> WrittenJSON? {
    row.isNull(Int32(index)) ? nil : .whole(row.bytes(Int32(index)))
  }

  // MARK: As it was

  /// nil: NULL, which upstream may have sent or left out.
  private func value(of column: Resource.Column, _ row: Row, at index: Int) -> WrittenJSON? {
    let index = Int32(index)
    if row.isNull(index) { return nil }
    switch column.type {
    case .text: return text(row.text(index), of: column)
    case .integer: return .whole(Array(String(row.integer(index)).utf8))
    case .boolean: return .whole(Array((row.integer(index) != 0 ? "true" : "false").utf8))
    case .real: return real(row.real(index), of: column)
    case .json: return .whole(row.bytes(index))
    }
  }

  private func text(_ text: String, of column: Resource.Column) -> WrittenJSON? {
    // The element of a list that may not have been there.
    if text.isEmpty, column.at.segments.contains(where: { JSONPointer.index($0) != nil }) { return nil }
    var bytes: [UInt8] = []
    JSONWriter.append(text, to: &bytes)
    return .whole(bytes)
  }

  /// How it was written is not known: for an integer's column a whole number has no fraction.
  private func real(_ number: Double, of column: Resource.Column) -> WrittenJSON? {
    guard number.isFinite else { return nil }
    let isInteger = new.columns.contains { $0.at == column.at && $0.type == .integer }
    let text = (isInteger ? Int64(exactly: number) : nil).map(String.init) ?? number.description
    return .whole(Array(text.utf8))
  }

  private func element(of list: Resource.List, _ row: Row) -> WrittenJSON {
    var element = WrittenJSON.null
    if list.hasExtra { element = Self.extra(row, at: list.columns.count) ?? .object([]) }
    for (index, column) in list.columns.enumerated() {
      if let value = value(of: column, row, at: index) { element.put(value, at: column.at.segments[...]) }
    }
    return element
  }

  // MARK: As the new definition takes it

  /// Anything that it would reject is left out.
  private func fitted(_ document: WrittenJSON) -> WrittenJSON {
    var document = document
    for column in new.columns {
      document = document.cut(column.at.segments[...], to: column.type.fitted) ?? .object([])
    }
    for list in new.lists {
      document = document.cut(list.at.segments[...]) { fitted($0, to: list) } ?? .object([])
    }
    return document
  }

  private func fitted(_ value: WrittenJSON, to list: Resource.List) -> WrittenJSON? {
    guard case .list(let elements) = value.opened else { return nil }
    return .list(
      elements.map { element in
        list.columns.reduce(element) { $0.cut($1.at.segments[...], to: $1.type.fitted) ?? .null }
      })
  }
}

extension Resource.ColumnType {
  /// The value, where a column of this type takes it (P9).
  fileprivate func fitted(_ value: WrittenJSON) -> WrittenJSON? {
    let isNumber = value.first == UInt8(ascii: "-") || value.first.isDigit
    let fits =
      switch self {
      case .json: true
      case .text: value.first == UInt8(ascii: "\"")
      case .boolean: value.first == UInt8(ascii: "t") || value.first == UInt8(ascii: "f")
      case .integer: isNumber && Int64(String(decoding: value.bytes, as: UTF8.self)) != nil
      case .real: isNumber && Double(String(decoding: value.bytes, as: UTF8.self))?.isFinite == true
      }
    return fits ? value : nil
  }
}
