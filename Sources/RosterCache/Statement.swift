import CSQLite

/// A value that a statement is given.
enum Value: ExpressibleByNilLiteral, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)

  init(nilLiteral: ()) { self = .null }
  init(stringLiteral: String) { self = .text(stringLiteral) }
  init(integerLiteral: Int64) { self = .integer(integerLiteral) }
  init(_ value: Int) { self = .integer(Int64(value)) }
  init(_ value: Int64?) { self = value.map(Value.integer) ?? .null }
  init(_ value: String?) { self = value.map(Value.text) ?? .null }
}

final class Statement {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { sqlite3_finalize(handle) }

  /// Every row, or the first ones.
  func rows<Result>(
    _ values: [Value], limit: Int = .max, _ read: (Row) throws -> Result
  ) throws -> [Result] {
    defer { sqlite3_reset(handle) }
    for (index, value) in values.enumerated() { bind(Int32(index + 1), value) }
    var results: [Result] = []
    while results.count < limit, try step() { results.append(try read(Row(handle))) }
    return results
  }

  /// Runs it once; the texts are bound from parameter `first` on, after what was bound before, and are not copied.
  func run(_ texts: TextRow, from first: Int32) throws {
    defer {
      sqlite3_reset(handle)
      sqlite3_clear_bindings(handle)
    }
    try texts.forEach { index, bytes in
      bind(first + Int32(index), bytes)
    } then: {
      while try step() {}
    }
  }

  func bind(_ index: Int32, _ value: Value) {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .integer(let number): sqlite3_bind_int64(handle, index, number)
    case .real(let number): sqlite3_bind_double(handle, index, number)
    case .text(let text): bind(index, text)
    }
  }

  func bind(_ index: Int32, _ number: Int64) { sqlite3_bind_int64(handle, index, number) }

  func bind(_ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bind(index, $0, Self.copied) }
  }

  private func bind(
    _ index: Int32, _ bytes: UnsafeBufferPointer<UInt8>, _ lifetime: sqlite3_destructor_type? = nil
  ) {
    // An empty buffer may have no address, which SQLite would take for NULL.
    guard let start = bytes.baseAddress, !bytes.isEmpty else {
      sqlite3_bind_text(handle, index, "", 0, nil)
      return
    }
    start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
      _ = sqlite3_bind_text(handle, index, $0, Int32(bytes.count), lifetime)
    }
  }

  /// SQLITE_TRANSIENT, a macro that Swift does not import.
  private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  private func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw SQLiteError(last: sqlite3_db_handle(handle))
    }
  }
}

/// The row a statement stands on; good until it moves on.
struct Row {
  private let handle: OpaquePointer

  fileprivate init(_ handle: OpaquePointer) { self.handle = handle }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
  func int(_ column: Int32) -> Int { Int(integer(column)) }
  func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
  func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }
  func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(handle, column) else { return "" }
    let length = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: length), as: UTF8.self)
  }
}
