import CSQLite
internal import FoundationEssentials
import Glibc
internal import RosterCore
internal import RosterDecode

/// A value that is bound to a parameter of a statement.
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
  init(_ flag: Bool) { self = .integer(flag ? 1 : 0) }
  /// Seconds since 1970.
  init(_ time: Date?) { self = time.map { .real($0.timeIntervalSince1970) } ?? .null }
}

final class Statement {
  private let handle: OpaquePointer
  /// The current row, after `step` returned true.
  var row: Row { Row(handle) }
  /// The id of the row that the connection inserted last.
  var lastID: Int64 { sqlite3_last_insert_rowid(sqlite3_db_handle(handle)) }

  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { sqlite3_finalize(handle) }

  /// Calls `body` for each row, which is valid until the next one.
  func forEach(_ values: [Value], body: (Row) throws -> Void) throws {
    defer { sqlite3_reset(handle) }
    for (index, value) in values.enumerated() { bind(Int32(index + 1), value) }
    while try step() { try body(Row(handle)) }
  }

  /// Reads every row, or the first `limit` rows.
  func rows<Result>(_ values: [Value], limit: Int = .max, read: (Row) throws -> Result) throws -> [Result] {
    defer { sqlite3_reset(handle) }
    for (index, value) in values.enumerated() { bind(Int32(index + 1), value) }
    var results: [Result] = []
    while results.count < limit, try step() { results.append(try read(Row(handle))) }
    return results
  }

  /// Binds these values from the first parameter on, and runs the statement to its end.
  func run(_ values: [Value] = []) throws { try forEach(values) { _ in } }

  /// Makes the statement ready to run again. Bound values are kept.
  func reset() { sqlite3_reset(handle) }

  func bind(_ index: Int32, _ value: Value) {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .integer(let number): sqlite3_bind_int64(handle, index, number)
    case .real(let number): sqlite3_bind_double(handle, index, number)
    case .text(let text): bind(index, text)
    }
  }

  func bind(_ index: Int32, _ number: Int64) { sqlite3_bind_int64(handle, index, number) }

  /// Binds a value without a copy: its bytes must not move until the statement has run.
  func bind(_ index: Int32, _ value: FieldValue) {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .text(let bytes), .json(let bytes): bind(index, bytes, nil)
    case .integer(let number): sqlite3_bind_int64(handle, index, number)
    case .real(let number): sqlite3_bind_double(handle, index, number)
    case .boolean(let flag): sqlite3_bind_int64(handle, index, flag ? 1 : 0)
    }
  }

  /// Binds a text without a copy; nil binds NULL.
  func bind(_ index: Int32, _ text: UnsafeBufferPointer<UInt8>?) {
    if let text { bind(index, text, nil) } else { sqlite3_bind_null(handle, index) }
  }

  /// Binds a key without a copy.
  func bind(_ index: Int32, _ key: RecordKey) {
    switch key {
    case .integer(let number): sqlite3_bind_int64(handle, index, number)
    case .text(let bytes): bind(index, bytes, nil)
    }
  }

  /// Binds a copy of the bytes.
  func bind(_ index: Int32, blob: [UInt8]) {
    _ = blob.withUnsafeBytes {
      sqlite3_bind_blob(handle, index, $0.baseAddress ?? UnsafeRawPointer(bitPattern: 1), Int32($0.count), Self.copied)
    }
  }

  func bind(_ index: Int32, _ text: String) {
    var text = text
    text.withUTF8 { bind(index, $0, Self.copied) }
  }

  private func bind(
    _ index: Int32, _ bytes: UnsafeBufferPointer<UInt8>, _ lifetime: sqlite3_destructor_type?
  ) {
    // An empty buffer may have no address, which SQLite would treat as NULL.
    guard let start = bytes.baseAddress, !bytes.isEmpty else {
      sqlite3_bind_text(handle, index, "", 0, nil)
      return
    }
    start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
      _ = sqlite3_bind_text(handle, index, $0, Int32(bytes.count), lifetime)
    }
  }

  /// SQLITE_TRANSIENT, a macro that Swift does not import.
  static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  /// Returns false after the last row.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw SQLiteError(last: sqlite3_db_handle(handle))
    }
  }
}

/// The current row of a statement, valid until the next step.
struct Row {
  fileprivate let handle: OpaquePointer

  fileprivate init(_ handle: OpaquePointer) { self.handle = handle }

  /// True if the column has this value.
  /// - Parameter ignoresOrder: The order of the members of JSON objects is no difference.
  func equals(_ column: Int32, _ value: FieldValue, ignoresOrder: Bool = false) -> Bool {
    // One lookup of the column instead of three. Only one thread uses a connection, so the value needs no protection
    // (sqlite.org/c3ref/column_blob.html).
    let stored = sqlite3_column_value(handle, column)
    let type = sqlite3_value_type(stored)
    return switch value {
    case .null: type == SQLITE_NULL
    case .text(let bytes): type == SQLITE_TEXT && Self.utf8(stored).equals(bytes)
    case .json(let bytes):
      type == SQLITE_TEXT
        && (Self.utf8(stored).equals(bytes) || ignoresOrder && MemberOrder.isOnlyDifference(Self.utf8(stored), bytes))
    case .integer(let number): type == SQLITE_INTEGER && sqlite3_value_int64(stored) == number
    case .boolean(let flag): type == SQLITE_INTEGER && sqlite3_value_int64(stored) == (flag ? 1 : 0)
    case .real(let number): type == SQLITE_FLOAT && sqlite3_value_double(stored) == number
    }
  }

  /// Compares with JSON; nil means NULL.
  func equals(_ column: Int32, json: UnsafeBufferPointer<UInt8>?, ignoresOrder: Bool = false) -> Bool {
    equals(column, json.map(FieldValue.json) ?? .null, ignoresOrder: ignoresOrder)
  }

  func bytes(_ column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_blob(handle, column) else { return [] }
    return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  /// Bytes of a text, valid until the next step of the statement.
  func utf8(_ column: Int32) -> UnsafeBufferPointer<UInt8> { Self.utf8(sqlite3_column_value(handle, column)) }

  private static func utf8(_ value: OpaquePointer?) -> UnsafeBufferPointer<UInt8> {
    // A text as a blob is not copied to add a final NUL. SQLite requires this order of the calls.
    let start = sqlite3_value_blob(value)
    let count = Int(sqlite3_value_bytes(value))
    return UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: start == nil ? 0 : count)
  }

  /// The value of a definition's column, valid until the next step of the statement.
  func value(_ column: Int32, of type: Resource.ColumnType) -> FieldValue {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_NULL: .null
    case SQLITE_INTEGER: type.form == .flag ? .boolean(integer(column) != 0) : .integer(integer(column))
    case SQLITE_FLOAT: .real(real(column))
    default: type.form == .document ? .json(utf8(column)) : .text(utf8(column))
    }
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
  func int(_ column: Int32) -> Int { Int(integer(column)) }
  func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }
  func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }
  func optionalReal(_ column: Int32) -> Double? { isNull(column) ? nil : real(column) }
  func date(_ column: Int32) -> Date { Date(timeIntervalSince1970: real(column)) }
  func optionalDate(_ column: Int32) -> Date? { isNull(column) ? nil : date(column) }
  func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

  func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(handle, column) else { return "" }
    let length = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: length), as: UTF8.self)
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func equals(_ other: Self) -> Bool {
    guard count == other.count else { return false }
    guard let start = baseAddress, let otherStart = other.baseAddress else { return isEmpty }
    return memcmp(start, otherStart, count) == 0
  }
}
