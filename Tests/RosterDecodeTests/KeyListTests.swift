import Testing

@testable import RosterDecode

@Suite struct KeyListTests {
  @Test("Keys are read in their order, whatever their order and size")
  func integers() {
    let numbers: [Int64] = [1, 2, 3, 1_000_000, 999_999, .max, 1, 5, 5]
    var list = KeyList()
    for number in numbers { list.append(number) }
    #expect(list.count == numbers.count)
    #expect(Decoded.keys(list) == numbers.map(String.init))
  }

  @Test("Consecutive keys take a byte each")
  func small() {
    var list = KeyList()
    for number in 1...1000 { list.append(Int64(number)) }
    #expect(list.bytes.count == 1000)
  }

  @Test("Text keys are read in their order, U+0000 included")
  func texts() {
    let texts = ["a", "", "a\0b", String(repeating: "x", count: 300), "é"]
    var list = KeyList()
    for text in texts { Array(text.utf8).withUnsafeBufferPointer { list.append($0) } }
    #expect(Decoded.keys(list, isText: true) == texts)
  }

  @Test("Bytes that are no key list end the reading, and nothing after them is read")
  func damaged() {
    for bytes in [[0x80], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x05, 0x61]] as [[UInt8]]
    {
      bytes.withUnsafeBufferPointer { bytes in
        var cursor = KeyCursor(bytes, isText: true)
        #expect(cursor.next().map(Decoded.text) == nil)
      }
    }
  }
}
