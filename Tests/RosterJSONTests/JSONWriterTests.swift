import RosterCore
import RosterDecode
import Testing

@Suite struct JSONWriterTests {
  @Test("Members and elements have commas between them, at every level")
  func commas() {
    var json = JSONWriter()
    json.object { json in
      json.member("a", 1)
      json.name("b")
      json.list { json in
        json.object { _ in }
        json.list { $0.null() }
        json.value(2.5)
        json.value("x")
      }
      json.member("c", true)
      json.name("d")
      json.raw("[0]".utf8)
      json.member("e", Double.nan)
    }
    #expect(json.text == #"{"a":1,"b":[{},[null],2.5,"x"],"c":true,"d":[0],"e":null}"#)
    json.removeAll()
    json.value("again")
    #expect(json.text == #""again""#)
  }

  @Test("Text is escaped as SQLite does, and no more")
  func escapes() {
    var json = JSONWriter()
    json.value("\"\\/\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}é😀")
    #expect(json.text == #""\"\\/\b\t\n\f\r\u0000\u001f"# + "\u{7f}é😀\"")
  }

  @Test("A character is escaped at each place of a text of any length")
  func escapesAnywhere() throws {
    for length in 0..<50 {
      let plain = [UInt8](repeating: UInt8(ascii: "a"), count: length)
      #expect(try written(plain) == plain)
      for place in 0..<length {
        for byte: UInt8 in [0x00, 0x1f, 0x22, 0x5c] {
          var text = plain
          text[place] = byte
          #expect(try written(text) == text)
        }
      }
    }
  }

  /// Writes the text as an element and as a member, and reads both.
  private func written(_ text: [UInt8]) throws -> [UInt8]? {
    var json = JSONWriter()
    text.withUnsafeBufferPointer { text in
      json.list { json in
        json.null()
        json.value(utf8: text)
        Array(#",{"a":"#.utf8).withUnsafeBufferPointer { json.part($0, utf8: text) }
        Array("}".utf8).withUnsafeBufferPointer { json.part($0) }
      }
    }
    let read = String(decoding: text, as: UTF8.self)
    let expected = JSONValue.list([.null, .text(read), .object([.init("a", .text(read))])])
    return try JSONValue(json: json.bytes) == expected ? text : nil
  }

  @Test("Written JSON is read again unchanged")
  func roundTrip() throws {
    let controls = String(String.UnicodeScalarView((0..<0x80).compactMap { Unicode.Scalar($0) }))
    let value = JSONValue.object([
      .init(controls, .text(controls)), .init("", .list([.number("1.10"), .null, .boolean(false), .object([])])),
    ])
    var json = JSONWriter()
    json.value(value)
    #expect(try JSONValue(json: json.bytes) == value)
  }
}
