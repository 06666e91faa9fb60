import RosterCore
import RosterDecode
import Testing

private let size = 8 << 20
private let simple = resource([idColumn, Resource.Column("a", at: at("/o/a"))])

private func repeated(_ text: String, count: Int, separator: String = ",") -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count * (text.utf8.count + separator.utf8.count))
  for index in 0..<count {
    if index > 0 { bytes += separator.utf8 }
    bytes += text.utf8
  }
  return bytes
}

private func read(_ body: [UInt8]) throws -> (PageScan, Decoded) {
  var decoder = RecordDecoder(try RecordPlan(simple))
  let scan = try decoder.scan(page: body)
  return (scan, try Decoded.read(body, scan: scan, decoder: &decoder))
}

@Suite struct HostileBodyTests {
  @Test("8 MiB of [ are malformed")
  func brackets() throws {
    #expect(throws: Malformed.self) { try read(Array(repeating: UInt8(ascii: "["), count: size)) }
    #expect(throws: Malformed.self) {
      try read(Array(#"[{"o":"#.utf8) + repeated(#"{"o":"#, count: size / 5, separator: ""))
    }
  }

  @Test("100,000 records are read, one more is malformed")
  func manyRecords() throws {
    let body = [UInt8(ascii: "[")] + repeated("0", count: 100_000) + [UInt8(ascii: "]")]
    let (scan, decoded) = try read(body)
    #expect((scan.records, scan.rejectsOfUnknownKey, decoded.rejects.count) == (100_000, 100_000, 100_000))
    #expect(throws: Malformed.self) {
      try read([UInt8(ascii: "[")] + repeated("0", count: 100_001) + [UInt8(ascii: "]")])
    }
    #expect(throws: Malformed.self) {
      try read([UInt8(ascii: "[")] + repeated("0", count: size / 2) + [UInt8(ascii: "]")])
    }
  }

  @Test("One name repeated over megabytes is one field, with and without a column")
  func oneName() throws {
    for (name, extra) in [("x", #"{"x":1}"#), (#"\u0078"#, #"{"\u0078":1}"#), ("id", nil)] {
      let member = "\"\(name)\":1"
      let body =
        Array(#"[{"id":1,"#.utf8) + repeated(member, count: size / 4 / (member.utf8.count + 1)) + Array("}]".utf8)
      let (scan, decoded) = try read(body)
      #expect(scan.storable == 1)
      #expect(decoded.records.first?.extra == extra)
    }
    let body = Array(#"[{"id":1,"#.utf8) + repeated(#""o":{"a":"","x":1}"#, count: size / 4 / 19) + Array("}]".utf8)
    #expect(try read(body).1.records.first?.extra == #"{"o":{"x":1}}"#)
  }

  @Test("80,000 fields without a column are kept, sorted, in one record")
  func manyFields() throws {
    let count = 80_000
    let members = (0..<count).map { #""f\#($0 &* 7_919 % count)":0"# }.joined(separator: ",")
    let (scan, decoded) = try read(Array(#"[{"id":1,\#(members)}]"#.utf8))
    #expect(scan.storable == 1)
    let expected = (0..<count).map { "\"f\($0)\":0" }.sorted {
      $0.dropLast(2).utf8.lexicographicallyPrecedes($1.dropLast(2).utf8)
    }
    #expect(decoded.records.first?.extra?.utf8.count == expected.reduce(1) { $0 + $1.utf8.count + 1 })
    #expect(decoded.records.first?.extra?.hasPrefix(#"{"f0":0,"f1":0,"f10":0,"f100":0,"f1000":0,"f10000":0,"#) == true)
  }

  @Test("The memory for a large body does not affect the next body")
  func nextBody() throws {
    var decoder = RecordDecoder(try RecordPlan(simple))
    let large = Array(#"[{"id":1,"#.utf8) + repeated(#""x": 1"#, count: 200_000) + Array("}]".utf8)
    for body in [large, Array(#"[{"id":2,"y":0}]"#.utf8), Array(#"[{"id":3}]"#.utf8)] {
      let scan = try decoder.scan(page: body)
      _ = try Decoded.read(body, scan: scan, decoder: &decoder)
    }
    let last = Array(#"[{"id":3}]"#.utf8)
    let scan = try decoder.scan(page: last)
    #expect(
      try Decoded.read(last, scan: scan, decoder: &decoder).records == [
        .init(position: 0, key: "3", columns: ["3", ""])
      ])
  }

  @Test("Bytes that changed after the scan are malformed or read, never read beyond")
  func changed() throws {
    var decoder = RecordDecoder(try RecordPlan(simple))
    let body = Array(#"[{"id":1,"x":{"y":[1,"\u0041"]},"o":{"a":"b"}}]"#.utf8)
    let scan = try decoder.scan(page: body)
    for index in body.indices {
      for byte in #"{}[]":,\0"#.utf8 {
        var other = body
        other[index] = byte
        _ = try? Decoded.read(other, scan: scan, decoder: &decoder)
        _ = try? Decoded.read(Array(other.prefix(index)), scan: scan, decoder: &decoder)
      }
    }
    #expect(throws: Malformed.self) {
      try body.withUnsafeBufferPointer { bytes throws(Malformed) in try decoder.begin(bytes, at: 1 << 40) }
    }
  }
}
