internal import RosterDecode
internal import RosterJSON
internal import RosterModel

/// Writes the document of a record for `changes` from the values at hand. The bytes are the same as those of
/// `ResourceTables.json`, which reads a stored record.
struct RecordDocument {
  private var json = JSONWriter()
  /// The bytes of each list's elements in the document.
  private var elements: [Range<Int>] = []

  private let parent: String?
  private let columns: [Resource.Column]
  private let lists: [(name: String, list: Resource.List)]

  init(_ tables: ResourceTables) {
    parent = tables.resource.parentColumn
    columns = tables.resource.columns
    lists = tables.resource.lists.map { (tables.listName($0), $0) }
  }

  /// The document that was written last.
  var bytes: [UInt8] { json.bytes }

  /// Writes the record at the decoder's position.
  /// - Parameter id: record id of the parent; 0 without a parent.
  mutating func write(_ decoder: inout RecordDecoder, below id: Int64) {
    let (parent, columns, lists) = (parent, columns, lists)
    var elements: [Range<Int>] = []
    json.removeAll()
    json.object { json in
      if let parent { json.member(parent, id) }
      json.members(columns, &decoder)
      for (index, (name, list)) in lists.enumerated() {
        json.name(name)
        let start = json.bytes.count
        json.list { json in
          decoder.openList(index)
          while decoder.nextRow() { json.element(of: list, &decoder) }
        }
        elements.append(start..<json.bytes.count)
      }
    }
    self.elements = elements
  }

  /// Writes the stored record that differs from another one.
  /// - Parameters:
  ///   - row: the id, then the columns of `ResourceTables.written`.
  ///   - id: record id of the parent; 0 without a parent.
  ///   - other: the document of the other record, from which equal lists are copied.
  mutating func write(
    _ row: Row, below id: Int64, lists stored: [StoredList], _ difference: RecordDifference,
    from other: RecordDocument
  ) throws {
    let (parent, columns, lists) = (parent, columns, lists)
    json.removeAll()
    try json.object { json in
      if let parent { json.member(parent, id) }
      for (index, column) in columns.enumerated() {
        json.member(column.name, row.value(Int32(index + 1), of: column.type))
      }
      json.member("extra", row.value(Int32(columns.count + 1), of: .json))
      for (index, (name, list)) in lists.enumerated() {
        json.name(name)
        if !difference.lists.contains(index) {
          json.raw(other.bytes[other.elements[index]])
          continue
        }
        try json.list { json in
          try stored[index].forEachRow(of: difference.id) { row in
            let extra = list.hasExtra ? row.value(Int32(list.columns.count), of: .json) : .null
            json.element(of: list, extra: extra) { row.value(Int32($0), of: list.columns[$0].type) }
          }
        }
      }
    }
  }
}

extension JSONWriter {
  /// Writes the columns and `extra` of the record at the decoder's position.
  fileprivate mutating func members(_ columns: [Resource.Column], _ decoder: inout RecordDecoder) {
    for (index, column) in columns.enumerated() { member(column.name, decoder.column(index)) }
    member("extra", decoder.extra.map { .json($0) } ?? .null)
  }

  /// Writes the element at the decoder's position.
  fileprivate mutating func element(of list: Resource.List, _ decoder: inout RecordDecoder) {
    element(of: list, extra: decoder.rowExtra.map { .json($0) } ?? .null) { decoder.rowColumn($0) }
  }

  /// Writes the bare value if the element itself is the only column.
  fileprivate mutating func element(of list: Resource.List, extra: FieldValue, value: (Int) -> FieldValue) {
    if !list.hasExtra, list.columns.count == 1 { return self.value(value(0)) }
    object { json in
      for (index, column) in list.columns.enumerated() { json.member(column.name, value(index)) }
      if list.hasExtra { json.member("extra", extra) }
    }
  }

  fileprivate mutating func member(_ name: String, _ value: FieldValue) {
    self.name(name)
    self.value(value)
  }

  fileprivate mutating func value(_ value: FieldValue) {
    switch value {
    case .null: null()
    case .text(let text): self.value(utf8: text)
    case .integer(let number): self.value(number)
    case .real(let number): self.value(number)
    case .boolean(let flag): self.value(flag)
    case .json(let json): raw(json)
    }
  }
}
