internal import RosterDecode
internal import RosterJSON
internal import RosterModel

/// Rebuilds the document of a stored record, as far as the cache knows it, and leaves out values that another
/// definition rejects. The other definition's decoder then reads it as if upstream had sent it.
struct StoredDocument {
  private let old: ResourceTables
  private let new: Resource
  private let lists: [Statement]

  init(_ database: Database, from old: ResourceTables, to new: Resource) throws {
    self.old = old
    self.new = new
    lists = try old.resource.lists.map { try database.once(old.select($0)) }
  }

  /// - Parameter row: a row of `ResourceTables.selectAll`.
  func bytes(_ row: Row) throws -> [UInt8] { fitted(try document(row)).bytes }

  /// The document with the old key at the place of the new one; nil if the old key cannot be a key there.
  func bytes(keyed row: Row) throws -> [UInt8]? {
    if old.resource.hasCompositeKey || new.hasCompositeKey { return nil }
    guard let place = old.key else { return nil }
    let text = row.text(Int32(place + 1))
    guard let isText = new.keyColumn.map({ new.columns[$0].type.isText }), isText || Int64(text) != nil else {
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
      // The cache does not know whether upstream sends an empty list or no list.
      if !elements.isEmpty { document.put(.list(elements), at: list.at.segments[...]) }
    }
    return document
  }

  private static func extra(_ row: Row, at index: Int) -> WrittenJSON? {
    row.isNull(Int32(index)) ? nil : .whole(row.bytes(Int32(index)))
  }

  // MARK: The document by the old definition

  /// nil for NULL: upstream may have sent null or omitted the field.
  private func value(of column: Resource.Column, _ row: Row, at index: Int) -> WrittenJSON? {
    let index = Int32(index)
    if row.isNull(index) { return nil }
    if column.type.isText { return text(row.text(index), of: column) }
    if case .real(let number) = row.value(index, of: column.type) { return real(number, of: column) }
    var json = JSONWriter()
    json.value(row.value(index, of: column.type))
    return .whole(json.bytes)
  }

  private func text(_ text: String, of column: Resource.Column) -> WrittenJSON? {
    // An empty text may mean that the list had no such element.
    if text.isEmpty, column.at.segments.contains(where: { JSONPointer.index($0) != nil }) { return nil }
    var bytes: [UInt8] = []
    JSONWriter.append(text, to: &bytes)
    return .whole(bytes)
  }

  /// The original notation is not known. In an integer column, a whole number is written without a fraction.
  private func real(_ number: Double, of column: Resource.Column) -> WrittenJSON? {
    guard number.isFinite else { return nil }
    let isInteger = new.columns.contains { $0.at == column.at && $0.type.isWhole }
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

  // MARK: The part that the new definition accepts

  /// Removes every value that the new definition would reject.
  private func fitted(_ document: WrittenJSON) -> WrittenJSON {
    var document = document
    for column in new.columns {
      document = document.cut(column.at.segments[...]) { column.type.fitted($0) } ?? .object([])
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
        list.columns.reduce(element) { element, column in
          element.cut(column.at.segments[...]) { column.type.fitted($0) } ?? .null
        }
      })
  }
}

extension Resource.ColumnType {
  /// The value, if a column of this type accepts it (P9).
  fileprivate func fitted(_ value: WrittenJSON) -> WrittenJSON? {
    value.bytes.withUnsafeBufferPointer { accepts($0) } ? value : nil
  }
}
