internal import RosterJSON

/// The members of a JSON object that is known to be well-formed, their values as they were written: no reader of
/// numbers may touch those (P10).
enum JSONMembers {
  /// In their order. Empty for what is no object.
  static func of(_ object: String) -> [(name: String, value: String)] {
    read(object, "{", "}") { scanner throws(Malformed) in
      (JSONEscapes.text(scanner.bytes, try scanner.name()), text(of: try scanner.value(), scanner))
    }
  }

  /// The elements of a list; empty for what is none.
  static func list(_ list: String) -> [String] {
    read(list, "[", "]") { scanner throws(Malformed) in text(of: try scanner.value(), scanner) }
  }

  /// The text of a JSON string; nil for any other value.
  static func text(_ value: String) -> String? {
    var value = value
    return value.withUTF8 { bytes in
      var scanner = JSONScanner(bytes)
      guard scanner.peek() == UInt8(ascii: "\""), let found = try? scanner.value() else { return nil }
      return JSONEscapes.text(bytes, found)
    }
  }

  /// Each member's value as people read it: a text without quotes, nothing for null.
  static func texts(_ object: String) -> [String: String] { texts(of(object)) }

  /// The same of members that are known.
  static func texts(_ members: [(name: String, value: String)]) -> [String: String] {
    Dictionary(members.map { ($0.name, shown($0.value)) }) { first, _ in first }
  }

  /// Likewise, of one value.
  static func shown(_ value: String) -> String { value == "null" ? "" : text(value) ?? value }

  private static func read<Part>(
    _ json: String, _ open: Unicode.Scalar, _ close: Unicode.Scalar,
    _ part: (inout JSONScanner) throws(Malformed) -> Part
  ) -> [Part] {
    var json = json
    return json.withUTF8 { bytes in
      var scanner = JSONScanner(bytes)
      var parts: [Part] = []
      guard scanner.peek() == UInt8(ascii: open) else { return parts }
      scanner.enter()
      if scanner.isEmpty(until: UInt8(ascii: close)) { return parts }
      do throws(Malformed) {
        repeat { parts.append(try part(&scanner)) } while try scanner.goesOn(until: UInt8(ascii: close))
      } catch { return [] }
      return parts
    }
  }

  private static func text(of slice: JSONSlice, _ scanner: JSONScanner) -> String {
    String(decoding: scanner.bytes[slice.range], as: UTF8.self)
  }
}
