import RosterCore
import RosterDecode
import RosterTestSupport
import Testing

/// Random definitions and records with few names, so that places overlap.
private struct Generator {
  var dice: SeededDice
  private static let names = ["a", "b", "cc", "0", "1", "a_long_name", "é"]

  private mutating func roll(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &dice) }
  private mutating func pick<Value>(_ values: [Value]) -> Value { values[roll(values.count)] }

  private mutating func pointer(from least: Int) -> JSONPointer {
    JSONPointer(segments: (0..<(least + roll(3))).map { _ in pick(Self.names) })
  }

  private mutating func columns(_ count: Int, from least: Int) -> [Resource.Column] {
    (0..<count).map { index in
      let types: [Resource.ColumnType] = [.json, .json, .text, .integer, .real, .boolean, .timestamp]
      return Resource.Column("c\(index)", at: pointer(from: least), pick(types), isNullable: roll(2) == 0)
    }
  }

  mutating func resource() -> Resource {
    var lists: [Resource.List] = []
    for index in 0..<roll(3) {
      let list = Resource.List(table: "l\(index)", at: pointer(from: 1), columns: columns(1 + roll(2), from: 0))
      if !lists.contains(where: { $0.at == list.at }) { lists.append(list) }
    }
    return Resource(name: "thing", path: "/", columns: [idColumn] + columns(roll(4), from: 1), lists: lists)
  }

  private mutating func name() -> (name: String, written: String) {
    let name = pick(Self.names + ["other", "z", "B"])
    if roll(12) > 0 { return (name, name) }
    let escaped = name.utf16.map {
      "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count) + String($0, radix: 16)
    }
    return (name, escaped.joined())
  }

  private mutating func scalar() -> Written {
    switch roll(11) {
    case 0, 1: .scalar("null")
    case 2: .scalar(pick(["true", "false"]))
    case 3: .scalar(pick(["0", "-7", "9223372036854775808", "12"]))
    case 4: .scalar(pick(["1.50", "-2e3", "0.1E-2"]))
    case 5: .scalar(#""x\u00e9\n""#, text: "xé\n")
    case 6: .scalar(#""""#, text: "")
    case 7:
      Written.digits(pick(["12", "-7", "0", "-0", "007", "1.0", "9223372036854775808", "100000000000000000000"]))
    case 9: Written.digits(pick(["2026-01-01T10:00:00Z", "2026-01-01T10:00:99Z", "10:00"]))
    case 8: .scalar(#""\u0031\u0032""#, text: "12")
    default: .scalar(#""plain text""#, text: "plain text")
    }
  }

  private mutating func value(_ depth: Int) -> Written {
    switch roll(depth > 3 ? 2 : 5) {
    case 0, 1: scalar()
    case 2: .list((0..<roll(4)).map { _ in value(depth + 1) })
    default: .object(members(roll(4), depth: depth))
    }
  }

  private mutating func members(_ count: Int, depth: Int) -> [Written.Member] {
    (0..<count).map { _ in
      let name = name()
      return Written.Member(name: name.name, written: name.written, value: value(depth + 1))
    }
  }

  mutating func record() -> Written {
    let key: Written = roll(20) == 0 ? scalar() : .scalar(String(1 + roll(1000)))
    var fields = members(roll(6), depth: 0)
    fields.insert(Written.Member(name: "id", written: "id", value: key), at: roll(fields.count + 1))
    return .object(fields)
  }

  mutating func space() -> String { roll(8) == 0 ? pick([" ", "\n", "\t ", "\r"]) : "" }
}

@Suite struct RandomRecordsTests {
  @Test(
    "4, 6: random records under random definitions equal a slow, plain reading of the rules",
    arguments: 1...8)
  func random(seed: Int) throws {
    var generator = Generator(dice: SeededDice(seed: UInt64(seed)))
    var (stored, rejected) = (0, 0)
    for _ in 0..<300 {
      let resource = generator.resource()
      let reference = ReferenceDecoder(resource: resource)
      for _ in 0..<6 {
        let record = generator.record()
        let json = record.json { generator.space() }
        let (scan, decoded) = try Decoded.page("[\(json)]", resource: resource)
        let expected: Decoded.Row? = if case .stored(let row) = reference.outcome(record) { row } else { nil }
        #expect(decoded.records == [expected].compactMap(\.self), "\(json)\n\(resource)\n\(decoded.rejects)")
        #expect(scan.storable == (expected == nil ? 0 : 1))
        if expected == nil { rejected += 1 } else { stored += 1 }
      }
    }
    #expect(stored > 300 && rejected > 300)
  }
}
