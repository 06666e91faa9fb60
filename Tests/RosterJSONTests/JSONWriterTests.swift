import RosterJSON
import RosterModel
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
