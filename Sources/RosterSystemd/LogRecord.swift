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

  /// `2026-11-21T04:15:06.123Z info  sync 17 published: 826 characters  sync=17`
  var text: String {
    let name = level.rawValue
    let padding = String(repeating: " ", count: max(0, Self.levelWidth - name.count))
    let fields = metadata.map { "\(Self.oneLine($0.key))=\(Self.word("\($0.value)"))" }
    let line = "\(at.rfc3339) \(name)\(padding) \(Self.oneLine(message))"
    return fields.isEmpty ? line : "\(line)  \(fields.joined(separator: " "))"
  }

  /// An object: `time`, `level`, `message`, and the metadata beside them; its keys of the same name get a `_`.
  var json: String {
    var members = [("time", Self.quoted(at.rfc3339)), ("level", Self.quoted(level.rawValue))]
    members.append(("message", Self.quoted(message)))
    let own = Set(members.map(\.0))
    members += metadata.map { (own.contains($0.key) ? $0.key + "_" : $0.key, Self.json($0.value)) }
    return Self.object(members)
  }

  private static func json(_ value: Logger.Metadata.Value) -> String {
    switch value {
    case .stringConvertible(let number as any FixedWidthInteger): "\(number)"
    case .dictionary(let members): object(members.sorted { $0.key < $1.key }.map { ($0.key, json($0.value)) })
    case .array(let values): "[\(values.map(json).joined(separator: ","))]"
    default: quoted("\(value)")
    }
  }

  private static func object(_ members: [(String, String)]) -> String {
    "{\(members.map { "\(quoted($0.0)):\($0.1)" }.joined(separator: ","))}"
  }

  /// Bare where a reader cannot mistake it.
  private static func word(_ text: String) -> String {
    let isPlain = !text.isEmpty && !text.unicodeScalars.contains { $0 <= " " || "\"=\\".unicodeScalars.contains($0) }
    return isPlain ? oneLine(text) : quoted(text)
  }

  /// Control characters would forge lines, or steer the terminal.
  private static func oneLine(_ text: String) -> String {
    text.unicodeScalars.contains(where: isControl) ? text.unicodeScalars.map(escaped).joined() : text
  }

  /// A JSON string (RFC 8259 §7).
  private static func quoted(_ text: String) -> String {
    let inner = text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : escaped($0) }
    return "\"\(inner.joined())\""
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    guard isControl(scalar) else { return String(scalar) }
    if scalar == "\n" { return "\\n" }
    let hex = String(scalar.value, radix: 16)
    return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
  }

  /// Lines up all levels but the long ones.
  private static let levelWidth = "error".count
}
