/// A value of the configuration as it was written, before anything is known of its key.
enum Setting: Sendable, Equatable {
  case string(String)
  case integer(Int)
  case list([Setting])
  case table([String: Setting])
  /// A TOML type that no key takes: its name.
  case other(String)

  /// For sentences: what it is, not what it says, because it may be a secret.
  var kind: String {
    switch self {
    case .string: "a string"
    case .integer: "an integer"
    case .list: "a list"
    case .table: "a table"
    case .other(let name): "a \(name)"
    }
  }

  /// As TOML (toml.io/en/v1.0.0).
  var toml: String {
    switch self {
    case .string(let text): Self.quoted(text)
    case .integer(let number): String(number)
    case .list(let elements): "[" + elements.map(\.toml).joined(separator: ", ") + "]"
    case .table(let members):
      members.isEmpty
        ? "{}"
        : "{ "
          + members.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)) = \($0.value.toml)" }
          .joined(separator: ", ") + " }"
    case .other(let name): name
    }
  }

  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
