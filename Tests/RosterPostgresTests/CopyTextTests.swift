import RosterCore
import Testing

@testable import RosterPostgres

@Suite("Rows for COPY")
struct CopyTextTests {
  @Test(
    "58: a text is escaped, and what PostgreSQL refuses is replaced and counted",
    arguments: [
      ([UInt8]("plain".utf8), "plain", 0), ([UInt8]("a\tb\nc\rd\\e".utf8), #"a\tb\nc\rd\\e"#, 0),
      ([UInt8]("ünï→𝄞".utf8), "ünï→𝄞", 0), ([UInt8]("\u{1}\u{7f}".utf8), "\u{1}\u{7f}", 0), ([], "", 0),
      ([0x61, 0, 0x62], "a\u{fffd}b", 1),
      // Half of a surrogate pair, a byte that begins nothing, a character that is cut off, one that is too long.
      ([0xED, 0xA0, 0x80], "\u{fffd}\u{fffd}\u{fffd}", 1), ([0xFF], "\u{fffd}", 1),
      ([0xE2, 0x82], "\u{fffd}\u{fffd}", 1),
      ([0xC0, 0x80], "\u{fffd}\u{fffd}", 1), ([0xF4, 0x90, 0x80, 0x80], "\u{fffd}\u{fffd}\u{fffd}\u{fffd}", 1),
    ])
  func text(bytes: [UInt8], written: String, replaced: Int) {
    var copy = CopyText()
    bytes.withUnsafeBufferPointer { copy.append([.text($0)]) }
    #expect(String(decoding: copy.bytes, as: UTF8.self) == written + "\n")
    #expect(copy.replaced == replaced)
  }

  @Test(
    "58: keys that differ only in replaced bytes stay different",
    arguments: [
      ([0x61, 0], "a\u{fffd}00"), ([0x61, 0xFF], "a\u{fffd}ff"), ([0x61, 0xFF, 0x30], "a\u{fffd}ff0"),
      ([UInt8]("a\u{fffd}".utf8), "a\u{fffd}"), ([UInt8]("a\u{fffd}x0".utf8), "a\u{fffd}x0"),
      // A key that looks like the first one.
      ([UInt8]("a\u{fffd}00".utf8), "a\u{fffd}ef\u{fffd}bf\u{fffd}bd00"), ([UInt8]("ünï".utf8), "ünï"),
    ])
  func key(bytes: [UInt8], written: String) {
    let table = ReplicaTable(
      name: "t", columns: [.init(name: "record_id", type: .bigint), .init(name: "id", type: .text)],
      primaryKey: ["record_id"], unique: [["id"]], role: .records(resource: "r"))
    var copy = CopyText(table)
    bytes.withUnsafeBufferPointer { copy.append([.integer(1), .text($0)]) }
    #expect(String(decoding: copy.bytes, as: UTF8.self) == "1\t\(written)\n")
    #expect(copy.replaced == (written.utf8.elementsEqual(bytes) ? 0 : 1))
  }

  @Test(
    "58: a time is written as PostgreSQL reads it, in UTC if it has no zone",
    arguments: [
      ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"), ("2026-01-01 10:00:00,25", "2026-01-01T10:00:00.25Z"),
      ("2026-01-01", "2026-01-01T00:00Z"), ("2026-01-01t10:00z", "2026-01-01T10:00Z"),
      ("9999-12-31T23:59:59.999999-0800", "9999-12-31T23:59:59.999999-0800"),
      ("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:60Z"), ("2016-12-31T23:59:60,25+01:00", "2016-12-31T23:59:60+01:00"),
    ])
  func time(text: String, written: String) {
    var text = text
    let table = ReplicaTable(
      name: "t", columns: [.init(name: "at", type: .timestamp)], primaryKey: [], unique: [],
      role: .records(resource: "r"))
    var copy = CopyText(table)
    text.withUTF8 { copy.append([.text($0)]) }
    #expect(String(decoding: copy.bytes, as: UTF8.self) == written + "\n")
  }

  @Test(
    "58: a JSON text is stored unchanged, apart from the parts that jsonb refuses",
    arguments: [
      (#"{"a":"\ud83d\ude00 \\u0000 \n"}"#, #"{"a":"\ud83d\ude00 \\u0000 \n"}"#, false),
      (#"["\u0000"]"#, #"["\ufffd"]"#, true), (#"["\ud83d","\ude00x"]"#, #"["\ufffd","\ufffdx"]"#, true),
      (#"["\ud83d\u0041"]"#, #"["\ufffd\u0041"]"#, true), ("[1.50,-2e3]", "[1.50,-2e3]", false),
      ("[1e999999]", #"["1e999999"]"#, true), ("[1E-99999999999999999999]", #"["1E-99999999999999999999"]"#, true),
      (#"["1e999999"]"#, #"["1e999999"]"#, false), (#"["\"]"#, #"["\"]"#, false),
    ])
  func json(text: String, stored: String, isReplaced: Bool) {
    var text = text
    text.withUTF8 { bytes in
      var json = JSONBText(bytes)
      #expect(json.sanitise() == isReplaced)
      #expect(String(decoding: json.sanitised, as: UTF8.self) == stored)
    }
  }

  @Test(
    "58: a number with 8,000 digits stays a number, whatever its sign, point and exponent are",
    arguments: [
      ("-" + String(repeating: "9", count: 8_000), false), ("0." + String(repeating: "9", count: 7_999), false),
      ("-" + String(repeating: "9", count: 8_000) + "e+8000", false), (String(repeating: "9", count: 8_001), true),
      ("0." + String(repeating: "9", count: 8_000), true),
    ])
  func digits(number: String, isReplaced: Bool) {
    var text = number
    text.withUTF8 { bytes in
      var json = JSONBText(bytes)
      #expect(json.sanitise() == isReplaced)
      #expect(String(decoding: json.sanitised, as: UTF8.self) == (isReplaced ? "\"\(number)\"" : number))
    }
  }

  @Test("58: values of a row are separated by tabs, and NULL is \\N")
  func row() {
    var copy = CopyText()
    copy.append([.integer(-7), .null, .boolean(true), .boolean(false), .real(0.1)])
    copy.append([.real(-1e300)])
    #expect(String(decoding: copy.bytes, as: UTF8.self) == "-7\t\\N\tt\tf\t0.1\n-1e+300\n")
  }
}

@Suite("SQL of a copy")
struct ReplicaSQLTests {
  private let sql = ReplicaSQL(schema: "ro\"ster")
  private let items = ReplicaTable(
    name: "items",
    columns: [
      .init(name: "record_id", type: .bigint, isRequired: true), .init(name: "id", type: .text, isRequired: true),
    ],
    primaryKey: ["record_id"], unique: [["id"]], role: .records(resource: "item"))

  @Test("58: names are quoted, and a table has the types of its columns")
  func create() {
    #expect(
      sql.create(items, as: "items", isUnlogged: false)
        == #"CREATE TABLE "ro""ster"."items" ("record_id" bigint NOT NULL, "id" text NOT NULL)"#)
  }

  @Test("58: a row is written only if it differs, within the scope of the changed records")
  func merge() {
    #expect(sql.upsert(items, staged: "s").hasSuffix(#"WHERE (t."id") IS DISTINCT FROM (excluded."id")"#))
    let scoped = sql.delete(items, staged: "s", ids: "ids")
    #expect(scoped.first?.contains(#"t."record_id" IN (SELECT id FROM "ids")"#) == true)
    #expect(scoped.count == 2)
    #expect(sql.delete(items, staged: "s", ids: nil).first?.contains(" IN ") == false)
  }

  @Test("58: JSON is compared as text, since 1 and 1.0 are equal as jsonb")
  func json() {
    var other = items
    other.columns.append(.init(name: "data", type: .jsonb))
    let condition = #"WHERE (t."id", t."data"::text) IS DISTINCT FROM (excluded."id", excluded."data"::text)"#
    #expect(sql.upsert(other, staged: "s").hasSuffix(condition))
  }

  @Test(
    "58: rows that have expired are removed, and older ones that are kept stay",
    arguments: [
      (KeptRows(first: 7, others: [1, 9]), #" WHERE "id" < 7 AND "id" NOT IN (1, 9)"#),
      (KeptRows(first: 7), #" WHERE "id" < 7"#), (KeptRows(first: nil, others: [3]), #" WHERE "id" NOT IN (3)"#),
      (KeptRows(first: nil), ""),
    ])
  func expire(kept: KeptRows, condition: String) {
    #expect(sql.expire(items, by: "id", kept: kept) == #"DELETE FROM "ro""ster"."items""# + condition)
  }

  @Test("58: constraints and tables have different names")
  func constraints() {
    let long = "organization_membership_invitation_requests"
    let tables = ["api", "api_key", "api_2_key", long, "\(long)_labels"].map { name in
      var table = items
      table.name = name
      return table
    }
    let names = sql.constraints(tables, present: [:], taken: []).joined().map(\.name)
    #expect(Set(names + tables.map(\.name)).count == names.count + tables.count)
    #expect(names.contains("api_3_key"))
    #expect(names.allSatisfy { $0.utf8.count <= 63 })
    // Another table of the schema has a constraint with this name.
    let others = sql.constraints(tables, present: [:], taken: ["api_3_key"]).joined().map(\.name)
    #expect(others.contains("api_4_key") && !others.contains("api_3_key"))
  }

  @Test("60: names that the position needs are refused", arguments: ["position", "position_pkey"])
  func ownNames(name: String) {
    var table = items
    table.name = name
    #expect(ReplicaNames.fault(in: [table])?.contains("the table \(name)") == true)
    #expect(ReplicaNames.fault(in: [items]) == nil)
  }

  @Test("60: another column is another signature")
  func signature() {
    var other = items
    other.columns.append(.init(name: "more", type: .jsonb))
    #expect(other.signature != items.signature)
  }
}
