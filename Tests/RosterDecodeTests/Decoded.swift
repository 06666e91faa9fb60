import RosterCore
import RosterDecode

/// The result of a decoder for a body, as text that tests can compare.
struct Decoded: Equatable {
  var records: [Row] = []
  var rejects: [Rejected] = []

  struct Row: Equatable {
    var position = 0
    var key = ""
    var columns: [String?] = []
    var extra: String?
    var lists: [[Element]] = []
  }

  struct Element: Equatable {
    var columns: [String?]
    var extra: String?
  }

  struct Rejected: Equatable {
    var position: Int
    var key: String?
    var reason: String
    var document: String
  }
}

extension Decoded {
  /// The result of both passes over a page.
  static func page(_ json: String, resource: Resource) throws -> (scan: PageScan, decoded: Decoded) {
    var decoder = RecordDecoder(try RecordPlan(resource))
    let scan = try decoder.scan(page: Array(json.utf8))
    return (scan, try read(Array(json.utf8), scan: scan, decoder: &decoder))
  }

  static func read(_ body: [UInt8], scan: PageScan, decoder: inout RecordDecoder) throws -> Decoded {
    try body.withUnsafeBufferPointer { bytes in
      var decoded = Decoded()
      try decoder.begin(bytes, at: scan.recordsAt)
      while let step = try decoder.next() {
        switch step {
        case .record: decoded.records.append(row(&decoder))
        case .rejected: decoded.rejects.append(rejected(decoder.reject))
        }
      }
      return decoded
    }
  }

  /// Lists are read twice, and only the second time is kept.
  private static func row(_ decoder: inout RecordDecoder) -> Row {
    let resource = decoder.plan.resource
    var row = Row(position: decoder.position, key: text(decoder.key))
    for list in resource.lists.indices {
      decoder.openList(list)
      while decoder.nextRow() {}
      decoder.openList(list)
      var elements: [Element] = []
      while decoder.nextRow() {
        let columns = resource.lists[list].columns.indices.map { text(decoder.rowColumn($0)) }
        elements.append(Element(columns: columns, extra: decoder.rowExtra.map(text)))
      }
      row.lists.append(elements)
    }
    row.columns = resource.columns.indices.map { text(decoder.column($0)) }
    row.extra = decoder.extra.map(text)
    return row
  }

  private static func rejected(_ reject: RecordReject) -> Rejected {
    Rejected(
      position: reject.position, key: reject.key.map(text), reason: reject.reason, document: text(reject.document))
  }

  static func text(_ key: RecordKey) -> String {
    switch key {
    case .integer(let number): String(number)
    case .text(let bytes): text(bytes)
    }
  }

  static func text(_ value: FieldValue) -> String? {
    switch value {
    case .null: nil
    case .text(let bytes), .json(let bytes): text(bytes)
    case .integer(let number): String(number)
    case .real(let number): String(number)
    case .boolean(let flag): String(flag)
    }
  }

  static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

  static func keys(_ list: KeyList, isText: Bool = false) -> [String] {
    list.bytes.withUnsafeBufferPointer { bytes in
      var cursor = KeyCursor(bytes, isText: isText)
      var keys: [String] = []
      while let key = cursor.next() { keys.append(text(key)) }
      return keys
    }
  }
}

func at(_ pointer: String) -> JSONPointer { JSONPointer(pointer) ?? JSONPointer(segments: ["no pointer"]) }

/// A resource whose answer is the list itself.
func resource(
  key: String = "/id", _ columns: [Resource.Column], lists: [Resource.List] = [],
  where conditions: [Resource.Condition] = [], records: String = "", pages: Resource.Pages = Resource.Pages(.one)
) -> Resource {
  Resource(
    name: "thing", path: "/things", records: at(records), key: at(key), conditions: conditions, pages: pages,
    columns: columns, lists: lists)
}

let idColumn = Resource.Column("id", at: at("/id"), .integer)
