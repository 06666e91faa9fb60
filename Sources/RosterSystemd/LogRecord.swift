internal import FoundationEssentials
internal import Logging
internal import RosterCore
internal import RosterDecode

/// One entry of the log, before it is formatted.
struct LogRecord: Sendable {
  var at: Date
  var level: Logger.Level
  var message: String
  /// The metadata, sorted by key.
  var metadata: [(key: String, value: Logger.Metadata.Value)]

  /// The record before the first line after a gap.
  static func lost(_ count: Int) -> LogRecord {
    LogRecord(
      at: Date(), level: .warning, message: "lines of the log were lost, because it was not read in time",
      metadata: [("lost", .stringConvertible(count))])
  }

  /// The entry as text: `2026-11-21T04:15:06.123Z info  sync 17 published: 826 characters  sync=17`.
  var text: String {
    let name = level.rawValue
    let padding = String(repeating: " ", count: max(0, Self.levelWidth - name.count))
    let fields = metadata.map { "\($0.key.escaped)=\(Self.word("\($0.value)"))" }
    let line = "\(at.rfc3339) \(name)\(padding) \(message.escaped)"
    return fields.isEmpty ? line : "\(line)  \(fields.joined(separator: " "))"
  }

  /// The entry as an object with `time`, `level`, `message` and the metadata. A metadata key with one of these names
  /// gets a trailing `_`.
  var json: String {
    let own = ["time": at.rfc3339, "level": level.rawValue, "message": message]
    let json = JSONWriter.object { json in
      for name in ["time", "level", "message"] { json.member(name, own[name]) }
      for (key, value) in metadata {
        json.name(own[key] == nil ? key : key + "_")
        Self.write(value, of: key, to: &json)
      }
    }
    return json.text.printableJSON
  }

  /// Numbers stay numbers, and so do those texts that are documented as numbers.
  private static func write(_ value: Logger.Metadata.Value, of key: String = "", to json: inout JSONWriter) {
    switch value {
    case .stringConvertible(let number as any BinaryInteger): json.value(number)
    case .stringConvertible(let number as Double) where number.isFinite: json.value(number)
    case .dictionary(let members):
      json.object { json in
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
          json.name(name)
          write(value, to: &json)
        }
      }
    case .array(let values): json.list { json in for value in values { write(value, to: &json) } }
    default:
      let text = "\(value)"
      if numbers.contains(key), let number = Int64(text) { json.value(number) } else { json.value(text) }
    }
  }

  private static let numbers: Set = ["sync", "page", "status", "attempt"]

  /// The text without quotes if that is unambiguous.
  private static func word(_ text: String) -> String {
    let isPlain = !text.isEmpty && !text.unicodeScalars.contains { $0 <= " " || "\"=\\".unicodeScalars.contains($0) }
    return isPlain ? text.escaped : quoted(text)
  }

  /// The text as a JSON string.
  private static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = []
    JSONWriter.append(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self).printableJSON
  }

  /// Aligns all levels except the long ones.
  private static let levelWidth = "error".count
}

extension String {
  /// The text on one line. Characters that could forge another line or control a terminal are escaped, because the text
  /// may come from upstream.
  var escaped: String {
    guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
    return unicodeScalars.map { $0 == "\n" ? "\\n" : $0.steersTerminal ? $0.jsonEscape : String($0) }.joined()
  }
}
