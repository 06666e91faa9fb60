internal import FoundationEssentials
internal import Logging
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
    var members = [("time", Self.quoted(at.rfc3339)), ("level", Self.quoted(level.rawValue))]
    members.append(("message", Self.quoted(message)))
    let own = Set(members.map(\.0))
    members += metadata.map { (own.contains($0.key) ? $0.key + "_" : $0.key, Self.json($0.value, of: $0.key)) }
    return Self.object(members)
  }

  /// Numbers as numbers, also those that the contract names as such where they were logged as text (S5).
  private static func json(_ value: Logger.Metadata.Value, of key: String = "") -> String {
    switch value {
    case .stringConvertible(let number as any BinaryInteger): "\(number)"
    case .stringConvertible(let number as Double) where number.isFinite: "\(number)"
    case .dictionary(let members): object(members.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) })
    case .array(let values): "[\(values.map { json($0) }.joined(separator: ","))]"
    default: numbers.contains(key) ? Int64("\(value)").map { "\($0)" } ?? quoted("\(value)") : quoted("\(value)")
    }
  }

  private static let numbers: Set = ["sync", "page", "status", "attempt"]

  private static func object(_ members: [(String, String)]) -> String {
    "{\(members.map { "\(quoted($0.0)):\($0.1)" }.joined(separator: ","))}"
  }

  /// Bare where a reader cannot mistake it.
  private static func word(_ text: String) -> String {
    let isPlain = !text.isEmpty && !text.unicodeScalars.contains { $0 <= " " || "\"=\\".unicodeScalars.contains($0) }
    return isPlain ? text.escaped : quoted(text)
  }

  /// A JSON string (RFC 8259 §7).
  private static func quoted(_ text: String) -> String {
    let inner = text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : $0.escapedWhereItSteers }
    return "\"\(inner.joined())\""
  }

  /// Lines up all levels but the long ones.
  private static let levelWidth = "error".count
}

extension String {
  /// On one line, with escapes for what would forge another one or steer a terminal: the text may be upstream's.
  var escaped: String {
    guard unicodeScalars.contains(where: \.steersTerminal) else { return self }
    return unicodeScalars.map(\.escapedWhereItSteers).joined()
  }
}

extension Unicode.Scalar {
  fileprivate var escapedWhereItSteers: String {
    guard steersTerminal else { return String(self) }
    if self == "\n" { return "\\n" }
    let hex = String(value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
  }
}
