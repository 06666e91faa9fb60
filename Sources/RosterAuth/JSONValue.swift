import FoundationEssentials

/// Any JSON: tells an answer that is no JSON from one that lacks a field.
enum JSONValue: Decodable {
  case string(String)
  case number(Double)
  case object([String: JSONValue])
  case other

  init(from decoder: any Decoder) throws {
    if let fields = try? decoder.container(keyedBy: Key.self) {
      let pairs = try fields.allKeys.map { ($0.stringValue, try fields.decode(JSONValue.self, forKey: $0)) }
      self = .object(Dictionary(pairs, uniquingKeysWith: { first, _ in first }))
      return
    }
    guard let value = try? decoder.singleValueContainer() else {
      self = .other
      return
    }
    if let text = try? value.decode(String.self) {
      self = .string(text)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else {
      self = .other
    }
  }

  /// nil: not JSON.
  init?(_ body: some Sequence<UInt8>) {
    guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(body)) else { return nil }
    self = value
  }

  subscript(field: String) -> JSONValue? {
    if case .object(let fields) = self { fields[field] } else { nil }
  }

  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// Some servers write numbers as strings.
  var number: Double? {
    switch self {
    case .number(let number): number
    case .string(let text): Double(text)
    case .object, .other: nil
    }
  }

  private struct Key: CodingKey {
    let stringValue: String
    let intValue: Int? = nil
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}
