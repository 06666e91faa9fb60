import RosterModel

extension ValueType<JSONPointer> {
  /// Deeper than any API nests, and what a record may be.
  static let mostNames = 100

  static var pointer: Self {
    .text(
      "a string", allowed: "a JSON Pointer such as \"/user/name\", of at most \(mostNames) names",
      parse: { (text) throws(Mistakes) in
        guard let pointer = JSONPointer(text), pointer.segments.count <= mostNames else {
          throw Mistakes("\(quoted(text)) is no JSON Pointer")
        }
        return pointer
      },
      write: \.description)
  }
}

extension ValueType<Resource.AnswerPlace> {
  static var answerPlace: Self {
    .text(
      "a string", allowed: "a JSON Pointer such as \"/info/count\", or \"header:NAME\"",
      parse: { (text) throws(Mistakes) in
        guard let place = Resource.AnswerPlace(text), place.isShallow else {
          throw Mistakes("\(quoted(text)) is no place in an answer")
        }
        return place
      },
      write: \.description)
  }
}

extension ValueType<Resource.RequestPlace> {
  static var requestPlace: Self {
    .text(
      "a string", allowed: "the name of a query parameter, or a place in body: a JSON Pointer such as \"/page\"",
      parse: { (text) throws(Mistakes) in
        guard let place = Resource.RequestPlace(text) else {
          throw Mistakes("\(quoted(text)) is no place in a request")
        }
        return place
      },
      write: \.description)
  }
}

extension Resource.AnswerPlace {
  fileprivate var isShallow: Bool {
    if case .body(let pointer) = self { pointer.segments.count <= ValueType<JSONPointer>.mostNames } else { true }
  }
}

extension ValueType<String> {
  static var resourcePath: Self {
    .text(
      "a string", allowed: "a path below base_url that begins with /, without query and fragment",
      parse: { (text) throws(Mistakes) in
        if let mistake = mistake(inPath: text, queryAllowed: false) { throw Mistakes("\(quoted(text)) \(mistake)") }
        return text
      },
      write: { $0 })
  }

  static var byKey: Self {
    .text(
      "a string", allowed: "a path below base_url that begins with /, with {key} or {keys} in it",
      parse: { (text) throws(Mistakes) in
        guard text.contains("{key}") != text.contains("{keys}") else {
          let isNone = !text.contains("{key}")
          throw Mistakes("\(quoted(text)) has \(isNone ? "neither {key} nor {keys}" : "both {key} and {keys}")")
        }
        let filled = text.replacing("{keys}", with: "1").replacing("{key}", with: "1")
        if let mistake = mistake(inPath: filled, queryAllowed: true) { throw Mistakes("\(quoted(text)) \(mistake)") }
        return text
      },
      write: { $0 })
  }

  private static func mistake(inPath text: String, queryAllowed: Bool) -> String? {
    guard text.hasPrefix("/") else { return "does not begin with /" }
    return WebAddress.mistake(in: "http://upstream" + text, queryAllowed: queryAllowed)
  }

  /// Of a table or column.
  static var identifier: Self {
    .text(
      "a string", allowed: "a plain identifier: letters, digits and _, no digit first",
      parse: { (text) throws(Mistakes) in
        guard text.isIdentifier else { throw Mistakes("\(quoted(text)) is no plain identifier") }
        return text
      },
      write: { $0 })
  }
}

extension String {
  /// What tools take without quotes.
  var isIdentifier: Bool { wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil }
}

extension ValueType<[String]> {
  static var columnNames: Self {
    Self(
      name: "a list of strings", allowed: "names of text columns", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .list(let items) = item else { throw Mistakes(item.isNot("a list of strings")) }
        var names: [String] = []
        for item in items {
          guard case .string(let name) = item else { throw Mistakes(item.isNot("a string")) }
          guard !names.contains(name) else { throw Mistakes("\(quoted(name)) is given twice") }
          names.append(name)
        }
        return names
      },
      write: { "[\($0.map(quoted).joined(separator: ", "))]" })
  }
}

extension ValueType<Bool> {
  static var boolean: Self {
    Self(
      name: "a boolean", allowed: "true or false", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .boolean(let flag) = item else { throw Mistakes(item.isNot("a boolean")) }
        return flag
      },
      write: { "\($0)" })
  }
}
