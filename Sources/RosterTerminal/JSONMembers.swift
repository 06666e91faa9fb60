internal import RosterJSON

/// The members of a well-formed JSON object. Values keep their original spelling, because to parse a number could
/// change it (P10).
enum JSONMembers {
  /// The members in their order; empty if the value is not an object.
  static func of(_ object: String) -> [(name: String, value: String)] {
    read(object, open: "{", close: "}") { scanner throws(Malformed) in
      (JSONEscapes.text(scanner.bytes, try scanner.name()), text(of: try scanner.value(), scanner))
    }
  }

  /// The elements of a list; empty if the value is not a list.
  static func list(_ list: String) -> [String] {
    read(list, open: "[", close: "]") { scanner throws(Malformed) in text(of: try scanner.value(), scanner) }
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

  /// Each member's value in the form for people: a text without quotes, and an empty text for null.
  static func texts(_ object: String) -> [String: String] { texts(of(object)) }

  /// The same for members that were read before.
  static func texts(_ members: [(name: String, value: String)]) -> [String: String] {
    Dictionary(members.map { ($0.name, shown($0.value)) }) { first, _ in first }
  }

  /// The same for one value.
  static func shown(_ value: String) -> String { value == "null" ? "" : text(value) ?? value }

  /// The values of a key's JSON: one, or those of a composite key, which people write one after another (L2.3).
  static func parts(ofKey key: String) -> [String] {
    let parts = list(key)
    return (parts.isEmpty ? [key] : parts).map(shown)
  }

  private static func read<Part>(
    _ json: String, open: Unicode.Scalar, close: Unicode.Scalar,
    part: (inout JSONScanner) throws(Malformed) -> Part
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
