internal import RosterCore
internal import RosterDecode

/// Writes the document of a record for `changes` from the values at hand. The bytes are the same as those of
/// `ResourceTables.json`, which reads a stored record. It is a class, because Swift copies a struct that is a property
/// of a class whenever it is passed on.
final class RecordDocument {
  private var json = JSONWriter()
  /// The places of the values in the document: the columns, then `extra`, then the lists.
  private var values: [Range<Int>] = []

  private let columns: [Resource.Column]
  private let lists: [Resource.List]
  /// True if the document begins with the record id of the parent.
  private let isChild: Bool
  /// The bytes before each value and the end of the document, and where each of these parts ends. Names are escaped
  /// only once.
  private let parts: [UInt8]
  private let partEnds: [Int]

  init(_ tables: ResourceTables) {
    columns = tables.resource.columns
    lists = tables.resource.lists
    isChild = tables.resource.parentColumn != nil
    let members = columns.map(\.name) + ["extra"] + lists.map { tables.listName($0) }
    var (parts, ends): ([UInt8], [Int]) = ([], [])
    for (index, name) in ((tables.resource.parentColumn.map { [$0] } ?? []) + members).enumerated() {
      parts.append(UInt8(ascii: index == 0 ? "{" : ","))
      JSONWriter.append(name, to: &parts)
      parts.append(UInt8(ascii: ":"))
      ends.append(parts.count)
    }
    parts.append(UInt8(ascii: "}"))
    ends.append(parts.count)
    (self.parts, partEnds) = (parts, ends)
  }

  /// The document that was written last.
  var bytes: [UInt8] { json.bytes }

  /// Takes a whole document.
  func take(_ document: [UInt8]) {
    json.removeAll()
    document.withUnsafeBufferPointer { json.part($0) }
  }

  /// Writes the record at the decoder's position.
  /// - Parameter id: record id of the parent; 0 without a parent.
  func write(_ decoder: inout RecordDecoder, below id: Int64) {
    json.removeAll()
    values.removeAll(keepingCapacity: true)
    var part = 0
    parts.withUnsafeBufferPointer { parts in
      func next() -> UnsafeBufferPointer<UInt8> {
        defer { part += 1 }
        return parts.extracting((part == 0 ? 0 : partEnds[part - 1])..<partEnds[part])
      }
      func add(_ value: (inout JSONWriter) -> Void) {
        json.part(next())
        let start = json.bytes.count
        value(&json)
        values.append(start..<json.bytes.count)
      }
      func add(_ text: UnsafeBufferPointer<UInt8>) {
        let (name, before) = (next(), json.bytes.count)
        json.part(name, utf8: text)
        values.append(before + name.count..<json.bytes.count)
      }
      if isChild {
        json.part(next())
        json.value(id)
      }
      for column in columns.indices {
        let value = decoder.column(column)
        if case .text(let text) = value { add(text) } else { add { $0.value(value) } }
      }
      add { $0.value(decoder.extra.map { .json($0) } ?? .null) }
      for (index, list) in lists.enumerated() { add { $0.elements(of: list, at: index, &decoder) } }
      json.part(next())
    }
  }

  /// Writes the stored record that differs from another one.
  /// - Parameters:
  ///   - row: the id, then the columns of `ResourceTables.written`.
  ///   - other: the document of the other record, from which all that is equal is copied.
  func write(
    _ row: Row, lists stored: [StoredList], _ difference: RecordDifference, from other: RecordDocument
  ) throws {
    json.removeAll()
    var copied = 0
    try other.json.bytes.withUnsafeBufferPointer { bytes in
      func copy(upTo value: Int) {
        json.part(bytes.extracting(copied..<other.values[value].lowerBound))
        copied = other.values[value].upperBound
      }
      for column in difference.columns {
        copy(upTo: column)
        json.value(row.value(Int32(column + 1), of: columns[column].type))
      }
      if difference.extra {
        copy(upTo: columns.count)
        json.value(row.value(Int32(columns.count + 1), of: .json))
      }
      for list in difference.lists {
        copy(upTo: columns.count + 1 + list)
        try json.elements(of: lists[list], stored[list], record: difference.id)
      }
      json.part(bytes.extracting(copied..<bytes.count))
    }
  }
}

extension JSONWriter {
  /// Writes the list of the record at the decoder's position.
  fileprivate mutating func elements(of list: Resource.List, at index: Int, _ decoder: inout RecordDecoder) {
    self.list { json in
      decoder.openList(index)
      while decoder.nextRow() {
        let extra = decoder.rowExtra.map { FieldValue.json($0) } ?? .null
        json.element(of: list, extra: extra) { decoder.rowColumn($0) }
      }
    }
  }

  /// Writes the list of a stored record.
  fileprivate mutating func elements(of list: Resource.List, _ stored: StoredList, record id: Int64) throws {
    try self.list { json in
      try stored.forEachRow(of: id) { row in
        let extra = list.hasExtra ? row.value(Int32(list.columns.count), of: .json) : .null
        json.element(of: list, extra: extra) { row.value(Int32($0), of: list.columns[$0].type) }
      }
    }
  }

  /// Writes the bare value if the element itself is the only column.
  private mutating func element(of list: Resource.List, extra: FieldValue, value: (Int) -> FieldValue) {
    if !list.hasExtra, list.columns.count == 1 { return self.value(value(0)) }
    object { json in
      for (index, column) in list.columns.enumerated() { json.member(column.name, value(index)) }
      if list.hasExtra { json.member("extra", extra) }
    }
  }

  private mutating func member(_ name: String, _ value: FieldValue) {
    self.name(name)
    self.value(value)
  }

  /// Writes the value of a column.
  mutating func value(_ value: FieldValue) {
    switch value {
    case .null: null()
    case .text(let text): self.value(utf8: text)
    case .integer(let number): self.value(number)
    // SQLite stores -0 as 0.
    case .real(let number): self.value(number == 0 ? 0 : number)
    case .boolean(let flag): self.value(flag)
    case .json(let json): raw(json)
    }
  }
}
