internal import FoundationEssentials
internal import Logging
internal import RosterJSON
internal import RosterModel

/// One line of the log, before it has a form.
struct LogRecord: Sendable {
  var at: Date
  var level: Logger.Level
  var message: String
  /// By key.
  var metadata: [(key: String, value: Logger.Metadata.Value)]

  /// Stands before the first line after those that nobody took.
  static func lost(_ count: Int) -> LogRecord {
    LogRecord(
      at: Date(), level: .warning, message: "lines of the log were lost, because nobody read it",
      metadata: [("lost", .stringConvertible(count))])
  }

  /// `2026-11-21T04:15:06.123Z info  sync 17 published: 826 characters  sync=17`
  var text: String {
    let name = level.rawValue
    let padding = String(repeating: " ", count: max(0, Self.levelWidth - name.count))
    let fields = metadata.map { "\($0.key.escaped)=\(Self.word("\($0.value)"))" }
    let line = "\(at.rfc3339) \(name)\(padding) \(message.escaped)"
    return fields.isEmpty ? line : "\(line)  \(fields.joined(separator: " "))"
  }

  /// An object: `time`, `level`, `message`, and the metadata beside them; its keys of the same name get a `_`.
  var json: String {
    let own = ["time": at.rfc3339, "level": level.rawValue, "message": message]
    var json = JSONWriter()
    json.object { json in
      for name in ["time", "level", "message"] { json.member(name, own[name]) }
      for (key, value) in metadata {
        json.name(own[key] == nil ? key : key + "_")
        Self.write(value, of: key, to: &json)
      }
    }
    return json.text.printableJSON
  }

  /// Numbers as numbers, also those that the contract names as such where they were logged as text (S5).
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

  /// Bare where a reader cannot mistake it.
  private static func word(_ text: String) -> String {
    let isPlain = !text.isEmpty && !text.unicodeScalars.contains { $0 <= " " || "\"=\\".unicodeScalars.contains($0) }
    return isPlain ? text.escaped : quoted(text)
  }

  /// A JSON string.
  private static func quoted(_ text: String) -> String {
    var bytes: [UInt8] = []
    JSONWriter.append(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self).printableJSON
  }

  /// Lines up all levels but the long ones.
  private static let levelWidth = "error".count
}

extension String {
  /// On one line, with escapes for what would forge another one or steer a terminal: the text may be upstream's.
  var escaped: String {
    guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
    return unicodeScalars.map { $0 == "\n" ? "\\n" : $0.steersTerminal ? $0.jsonEscape : String($0) }.joined()
  }
}
