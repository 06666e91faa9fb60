import RosterDecode
import Testing

private func integer(_ text: String) -> Int64? {
  Array(text.utf8).withUnsafeBufferPointer { JSONNumber.integer($0, range: 0..<$0.count) }
}

private func double(_ text: String) -> Double? {
  Array(text.utf8).withUnsafeBufferPointer { JSONNumber.double($0, range: 0..<$0.count) }
}

@Suite struct JSONNumberTests {
  @Test("6: an integer is read up to the limits of 64 bits, and not beyond")
  func integers() {
    let ends = ["0", "-0", "7", "-7", "9223372036854775807", "-9223372036854775808"]
    #expect(ends.map(integer) == [0, 0, 7, -7, .max, .min])
    #expect(["9223372036854775808", "-9223372036854775809", "100000000000000000000"].allSatisfy { integer($0) == nil })
  }

  @Test("A number is the nearest Double, as the standard library reads it; other text is no number")
  func doubles() {
    var seed: UInt64 = 7
    for _ in 0..<20_000 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let digits = String(seed >> (seed & 63))
      let places = String((seed >> 20) >> (seed >> 6 & 63))
      let exponent = seed & 3 == 0 ? "e\(Int(seed >> 40 & 511) - 255)" : ""
      let text = (seed & 4 == 0 ? "-" : "") + digits + "." + places + exponent
      #expect(double(text)?.bitPattern == Double(text)?.bitPattern, "\(text)")
    }
    #expect(["0", "-0.0", "1", "0.1", "1e22", "1E-2"].map(double) == [0, -0.0, 1, 0.1, 1e22, 0.01])
    #expect(double("-0.0")?.sign == .minus)
    #expect(["1e400", "-1e400"].allSatisfy { double($0) == nil })
  }
}
