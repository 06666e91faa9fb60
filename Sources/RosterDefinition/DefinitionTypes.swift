import FoundationEssentials
package import RosterCore

extension ValueType<JSONPointer> {
  /// Largest number of names in a pointer: deeper than any API nests, and than a record may nest.
  static let maxNames = 100

  static var pointer: Self {
    .text(
      allowed: "a JSON Pointer such as \"/user/name\", of at most \(maxNames) names", problem: "is no JSON Pointer",
      parse: { JSONPointer($0).flatMap { $0.segments.count <= maxNames ? $0 : nil } },
      write: \.description)
  }
}

extension ValueType<[JSONPointer]> {
  /// One place, or a list of at most six different ones.
  static var keyPlaces: Self {
    let (one, most) = (ValueType<JSONPointer>.pointer, 6)
    return Self(
      name: one.name, allowed: "\(one.allowed), or a list of 2 to \(most) of them", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .list(let items) = item else { return [try one.read(item)] }
        guard (1...most).contains(items.count) else { throw Mistakes("a key has \(items.count) places") }
        var places: [JSONPointer] = []
        for item in items {
          let place = try one.read(item)
          if places.contains(place) { throw Mistakes("\(place.description.tomlString) is given twice") }
          places.append(place)
        }
        return places
      },
      write: { places in
        places.count == 1 ? one.write(places[0]) : .list(places.map(one.write))
      })
  }
}

extension ValueType<[JSONPointer]> {
  /// Different places, in any number.
  static var pointers: Self {
    .list(
      "a list of strings", of: .pointer, allowed: "JSON Pointers such as \"/errors\"",
      problem: { place, before in before.contains(place) ? "\(place.description.tomlString) is given twice" : nil })
  }
}

extension ValueType<AnswerRules.NoRecords> {
  private static let (absent, null) = ("absent", "null")

  static var noRecords: Self {
    let status = ValueType<Int>.integer(400...599)
    return Self(
      name: "a list of forms", allowed: "\"absent\", \"null\", 204, and statuses from \(status.allowed)", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .list(let items) = item else { throw Mistakes(item.isNot("a list of forms")) }
        var forms = AnswerRules.NoRecords()
        for item in items {
          switch item {
          case .string(absent): forms.isAbsent = true
          case .string(null): forms.isNull = true
          // It is empty in any case.
          case .integer(AnswerRules.NoRecords.noContent): continue
          case .string(let text): throw Mistakes("\(text.tomlString) is no form of an answer without records")
          case .integer, .float, .boolean, .date, .list, .table: forms.statuses.append(try status.read(item))
          }
        }
        return forms
      },
      write: { forms in
        let texts = (forms.isAbsent ? [absent] : []) + (forms.isNull ? [null] : [])
        let statuses = [AnswerRules.NoRecords.noContent] + forms.statuses
        return .list(texts.map(TOMLItem.string) + statuses.map(TOMLItem.integer))
      })
  }
}

extension ValueType<JSONPointer?> {
  /// nil is written as an empty text.
  package static var optionalPointer: ValueType<JSONPointer?> {
    let pointer = ValueType<JSONPointer>.pointer
    return Self(
      name: pointer.name, allowed: pointer.allowed,
      read: { (item) throws(Mistakes) in
        if case .string("") = item { return nil }
        return try pointer.read(item)
      },
      write: { $0.map(pointer.write) ?? .string("") })
  }
}

extension ValueType<Resource.AnswerPlace> {
  static var answerPlace: Self {
    .text(
      allowed: "a JSON Pointer such as \"/info/count\", or \"header:NAME\"", problem: "is no place in an answer",
      parse: { Resource.AnswerPlace($0).flatMap { $0.isShallow ? $0 : nil } },
      write: \.description)
  }
}

extension ValueType<Resource.AnswerPlace> {
  private static var members: [String] { ["list", "where", "value"] }

  /// A place in an answer, or in the element of a list that fulfils conditions.
  static var nextPlace: Self {
    Self(
      name: answerPlace.name,
      allowed: "\(answerPlace.allowed); or { list = \"/links\", where = { \"/rel\" = \"next\" }, value = \"/href\" }",
      read: { (item) throws(Mistakes) in
        guard case .table(let table) = item else { return try answerPlace.read(item) }
        if let other = table.list.first(where: { !members.contains($0.name) }) {
          throw Mistakes([Mistake("is unknown", allowed: members.joined(separator: " "), entry: other.name)])
        }
        guard let list = table["list"], let conditions = table["where"], let value = table["value"] else {
          throw Mistakes("lacks list, where or value")
        }
        return .entry(
          Resource.EntryPlace(
            list: try ValueType<JSONPointer>.pointer.read(list),
            conditions: try ValueType<[Resource.Condition]>.conditions.read(conditions),
            value: try ValueType<JSONPointer>.pointer.read(value)))
      },
      write: { place in
        guard case .entry(let entry) = place else { return answerPlace.write(place) }
        return .table([
          "list": .string(entry.list.description),
          "where": ValueType<[Resource.Condition]>.conditions.write(entry.conditions),
          "value": .string(entry.value.description),
        ])
      })
  }
}

extension ValueType<Resource.RequestPlace> {
  static var requestPlace: Self {
    .text(
      allowed: "the name of a query parameter, or a place in body: a JSON Pointer such as \"/page\"",
      problem: "is no place in a request", parse: { Resource.RequestPlace($0) },
      write: \.description)
  }
}

extension Resource.AnswerPlace {
  fileprivate var isShallow: Bool {
    if case .body(let pointer) = self { pointer.segments.count <= ValueType<JSONPointer>.maxNames } else { true }
  }
}

extension ValueType<String> {
  static var resourcePath: Self {
    .text(
      allowed: "a path below base_url that begins with /, without query and fragment",
      parse: { (text) throws(Mistakes) in
        var path = text
        if text.hasPrefix("{"), let end = text.firstIndex(of: "}"), ParentColumn(whole: String(text[...end])) != nil {
          path = String(text[text.index(after: end)...])
          if path.isEmpty { return text }
        }
        path = DayText(path).filled(at: Date(timeIntervalSince1970: 0))
        let placeholders = Set(PageStyle.all.compactMap(\.placeholder))
        let filled = placeholders.reduce(ParentColumn.filling(path) { _ in "1" }) { $0.replacing($1, with: "1") }
        if let mistake = mistake(inPath: filled, queryAllowed: false) {
          throw Mistakes("\(shown(text)) \(mistake)")
        }
        return text
      },
      write: { $0 })
  }

  static var byKey: Self {
    .text(
      allowed: "a path below base_url that begins with /, with {key} or {keys} in it",
      parse: { (text) throws(Mistakes) in
        try expectKey(in: text, shown: shown(text))
        return try keyPath.read(.string(text))
      },
      write: { $0 })
  }

  /// Throws unless the text names the key in one way.
  static func expectKey(in text: String, shown: String) throws(Mistakes) {
    guard text.keyParts.isEmpty, text.contains("{key}") == text.contains("{keys}") else { return }
    let isNone = !text.contains("{key}")
    throw Mistakes("\(shown) has \(isNone ? "neither {key} nor {keys}" : "both {key} and {keys}")")
  }

  /// The path of `by_key`, whose body may have the key.
  static var keyPath: Self {
    .text(
      allowed: "a path below base_url that begins with /",
      parse: { (text) throws(Mistakes) in
        let parts = text.keyParts
        let keys = ["{keys}", "{key}"] + parts.map { "{key.\($0)}" }
        let filled = keys.reduce(ParentColumn.filling(text) { _ in "1" }) { $0.replacing($1, with: "1") }
        if let mistake = mistake(inPath: filled, queryAllowed: true) { throw Mistakes("\(shown(text)) \(mistake)") }
        return text
      },
      write: { $0 })
  }

  /// The text with a masked query: which parameter carries the token is only known after `auth.send`.
  private static func shown(_ text: String) -> String { text.userMasked.queryMasked.tomlString }

  private static func mistake(inPath text: String, queryAllowed: Bool) -> String? {
    guard text.hasPrefix("/") else { return "does not begin with /" }
    return WebAddress.mistake(in: "http://upstream" + text, queryAllowed: queryAllowed)
  }

  /// The name of a table or column.
  static var identifier: Self {
    .text(
      allowed: "a plain identifier: letters, digits and _, no digit first",
      problem: "is no plain identifier", parse: { $0.isIdentifier ? $0 : nil },
      write: { $0 })
  }
}

extension String {
  /// The names in each `{key.COLUMN}`.
  var keyParts: [String] {
    // The first regular expression of a process takes 4 ms.
    guard contains("{key.") else { return [] }
    return matches(of: /\{key\.([A-Za-z_][A-Za-z0-9_]*)\}/).map { String($0.1) }
  }

  /// True for a name that tools accept without quotes.
  var isIdentifier: Bool { utf8.isColumnName }
}

extension ValueType<Resource.KeyQuestion> {
  private static var members: [String] { ["path", "method", "body"] }

  /// A path, or a table with a path, a method and a body.
  static var keyQuestion: Self {
    let path = ValueType<String>.byKey
    return Self(
      name: path.name, allowed: "\(path.allowed); or { path = …, method = \"POST\", body = … }",
      read: { (item) throws(Mistakes) in
        guard case .table(let table) = item else { return Resource.KeyQuestion(path: try path.read(item)) }
        if let other = table.list.first(where: { !members.contains($0.name) }) {
          throw Mistakes([Mistake("is unknown", allowed: members.joined(separator: " "), entry: other.name)])
        }
        guard let written = table["path"] else { throw Mistakes("lacks path") }
        var question = Resource.KeyQuestion(path: try ValueType<String>.keyPath.read(written))
        if let method = table["method"] { question.method = try ValueType<Resource.Method>.choice.read(method) }
        if let body = table["body"] { question.body = try ValueType<JSONValue>.object.read(body) }
        guard question.method == .post || question.body == .object([]) else {
          throw Mistakes("has a body, which a GET does not send", allowed: "method = \"POST\" beside it")
        }
        try ValueType<String>.expectKey(in: question.text, shown: "it")
        return question
      },
      write: { question in
        guard question.method == .post else { return path.write(question.path) }
        return .table([
          "path": .string(question.path), "method": .string(question.method.rawValue),
          "body": ValueType<JSONValue>.object.write(question.body),
        ])
      })
  }
}

extension ValueType<[String]> {
  static func columnNames(_ allowed: String) -> Self {
    .list(
      "a list of strings", of: .text("any text"), allowed: allowed,
      problem: { name, before in before.contains(name) ? "\(name.tomlString) is given twice" : nil })
  }
}

extension ValueType<Bool> {
  /// true or false.
  package static var boolean: ValueType<Bool> {
    Self(
      name: "a boolean", allowed: "true or false", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .boolean(let flag) = item else { throw Mistakes(item.isNot("a boolean")) }
        return flag
      },
      write: { .boolean($0) })
  }
}

extension ValueType<[Request.Header]> {
  /// A table of header names with their values as strings. Messages do not repeat a value.
  /// - Parameter shown: the value as `check` prints it.
  package static func headers(shown: @escaping @Sendable (Request.Header) -> String) -> Self {
    Self(
      name: "a table of strings", allowed: "header names with their values as strings", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .table(let items) = item else { throw Mistakes(item.isNotShown("a table of strings")) }
        let entries = items.list.sorted { $0.name < $1.name }
        let first = Dictionary(entries.map { ($0.name.lowercased(), $0.name) }) { first, _ in first }
        let mistakes = entries.compactMap { mistake($0.name, item: $0.item, first: first[$0.name.lowercased()]) }
        guard mistakes.isEmpty else { throw Mistakes(mistakes) }
        return entries.compactMap { entry in
          if case .string(let value) = entry.item { Request.Header(entry.name, value) } else { nil }
        }
      },
      write: { headers in
        .table(TOMLMembers(headers.map { .init(name: $0.name, item: .string(shown($0))) }, quotesNames: true))
      })
  }

  /// - Parameter first: the first header with this name, regardless of case.
  private static func mistake(_ name: String, item: TOMLItem, first: String?) -> Mistake? {
    guard name.isHTTPToken else {
      return Mistake("is not a header name", allowed: HeaderText.allowedInName, entry: name)
    }
    guard !HeaderText.isOwn(name) else {
      return Mistake("is rosterd's own to send", allowed: "any other header", entry: name)
    }
    if let first, first != name {
      return Mistake("is given twice, as \(first) too", allowed: "each header once, in any case", entry: name)
    }
    guard case .string(let value) = item else {
      return Mistake(item.isNotShown("a string"), allowed: "a string", entry: name)
    }
    return HeaderText.mistake(in: value).map { Mistake("its value \($0)", allowed: "one line of text", entry: name) }
  }
}
