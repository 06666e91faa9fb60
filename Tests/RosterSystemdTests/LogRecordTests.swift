import FoundationEssentials
import Logging
import Testing

@testable import RosterCore
@testable import RosterSystemd

@Suite struct LogRecordTests {
  private func record(_ message: String, metadata: KeyValuePairs<String, Logger.MetadataValue> = [:]) -> LogRecord {
    LogRecord(
      at: Date(timeIntervalSince1970: 1_795_234_506.125), level: .info, message: message,
      metadata: metadata.map { (key: $0.key, value: $0.value) })
  }

  @Test("48: a log line of text has time, level, message and metadata")
  func text() {
    let published = record("sync 17 published: 826 characters", metadata: ["sync": "17"])
    #expect(published.text == "2026-11-21T04:15:06.125Z info  sync 17 published: 826 characters  sync=17")
    #expect(record("bare").text == "2026-11-21T04:15:06.125Z info  bare")
    let odd = record("m", metadata: ["cause": "no \"way\"", "empty": "", "path": "/a"])
    #expect(odd.text.hasSuffix(#"m  cause="no \"way\"" empty="" path=/a"#))
  }

  @Test("51: text from outside cannot forge a line or control the terminal")
  func forgery() {
    let forged = record("a\nb\u{1b}[2J\u{85}\u{2028}\u{202E}\u{2066}", metadata: ["k": "1\n2\u{202D}"])
    #expect(forged.text.hasSuffix(#"a\nb\u001b[2J\u0085\u2028\u202e\u2066  k="1\n2\u202d""#))
    for text in [forged.text, forged.json] + Journal.fields(forged) {
      #expect(
        !text.unicodeScalars.contains {
          $0.properties.generalCategory == .control || "\u{2028}\u{202E}\u{2066}\u{202D}".unicodeScalars.contains($0)
        })
    }
  }

  @Test("48: a JSON line keeps numbers, lists and objects, and its own members")
  func json() throws {
    let line = record(
      "é \"q\" \\",
      metadata: [
        "message": "other", "sync": .stringConvertible(17), "list": ["a", .stringConvertible(2)], "o": ["k": "v"],
      ]
    ).json
    #expect(
      line == #"{"time":"2026-11-21T04:15:06.125Z","level":"info","message":"é \"q\" \\","#
        + #""message_":"other","sync":17,"list":["a",2],"o":{"k":"v"}}"#)
    #expect(
      record("m", metadata: ["status": "503", "page": "x", "seconds": .stringConvertible(0.25)]).json.hasSuffix(
        #""status":503,"page":"x","seconds":0.25}"#))
    struct Line: Decodable { var message: String }
    #expect(try JSONDecoder().decode(Line.self, from: Data(line.utf8)).message == "é \"q\" \\")
  }
}
