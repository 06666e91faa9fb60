package import RosterJSON
package import RosterModel

/// Makes characters of bytes. Does no I/O.
package enum PageDecoder {
  /// A page of `/character?page=N`: `{"info": {"count", "pages"}, "results": [...]}`.
  package static func page(_ body: [UInt8]) throws(Malformed) -> Page {
    try read(body) { reader throws(Malformed) in
      var info: (count: Int, pages: Int)?
      var records: Records?
      try reader.object { reader, name throws(Malformed) in
        switch name {
        case .info: info = try self.info(&reader)
        case .results: records = try Records(&reader)
        default: try reader.skip()
        }
      }
      guard let info else { throw reader.malformed("info") }
      guard let records else { throw reader.malformed("results") }
      return Page(count: info.count, pages: info.pages, characters: records.characters, rejects: records.rejects)
    }
  }

  /// The answer of `/character/ID` (an object) or `/character/ID,ID…` (a list).
  package static func characters(_ body: [UInt8]) throws(Malformed) -> (characters: [Character], rejects: [Reject]) {
    try read(body) { reader throws(Malformed) in
      var records = Records()
      if reader.peek() == UInt8(ascii: "[") {
        records = try Records(&reader)
      } else if reader.peek() == UInt8(ascii: "{") {
        try records.read(&reader)
      } else {
        throw reader.malformed("a character or a list of them")
      }
      return (records.characters, records.rejects)
    }
  }

  private static func read<Value>(
    _ body: [UInt8], _ value: (inout JSONReader) throws(Malformed) -> Value
  ) throws(Malformed) -> Value {
    let result = body.withUnsafeBufferPointer { bytes -> Result<Value, Malformed> in
      do throws(Malformed) {
        var reader = try JSONReader(bytes)
        let value = try value(&reader)
        try reader.end()
        return .success(value)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private static func info(_ reader: inout JSONReader) throws(Malformed) -> (count: Int, pages: Int) {
    var count: Int64?
    var pages: Int64?
    try reader.object { reader, name throws(Malformed) in
      switch name {
      case .count: count = try number(&reader)
      case .pages: pages = try number(&reader)
      default: try reader.skip()
      }
    }
    guard let count, let pages else { throw reader.malformed("count and pages in info") }
    return (Int(count), Int(pages))
  }

  private static func number(_ reader: inout JSONReader) throws(Malformed) -> Int64 {
    guard let number = reader.integer(), number >= 0 else { throw reader.malformed("a whole number from 0") }
    return number
  }
}

/// The records of one answer, sorted into those that can be stored and those that cannot (P9).
private struct Records {
  var characters: [Character] = []
  var rejects: [Reject] = []
  private var position = 0

  init() {
    characters.reserveCapacity(Self.usual)
  }

  /// The API's page size.
  private static let usual = 20

  init(_ reader: inout JSONReader) throws(Malformed) {
    self.init()
    try reader.array { reader throws(Malformed) in try read(&reader) }
  }

  mutating func read(_ reader: inout JSONReader) throws(Malformed) {
    defer { position += 1 }
    guard reader.peek() == UInt8(ascii: "{") else {
      let place = try reader.skip()
      return reject(nil, "the record is not an object", reader.text(place))
    }
    let start = reader.offset
    var record = RecordReader()
    let (_, levels) = try reader.countLevels { reader throws(Malformed) in try record.read(&reader) }
    record.noteLevels(levels)
    if let reason = record.fault {
      reject(record.id, reason, reader.text(start..<reader.offset))
    } else {
      characters.append(record.finished())
    }
  }

  private mutating func reject(_ id: Int64?, _ reason: String, _ document: String) {
    rejects.append(Reject(position: position, id: id, reason: reason, document: document))
  }
}
