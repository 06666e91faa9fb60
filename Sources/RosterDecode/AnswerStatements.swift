import RosterCore

/// The objects around the records: their members are read on the way, and those that say something about the answer are
/// noted.
extension RecordDecoder {
  /// Reads an object on the way to the records, or one of `AnswerSign.envelopes`.
  /// - Parameters:
  ///   - envelopes: the names that lead to the object from the node; empty if it is the node itself.
  ///   - isOther: True for an object of any other name. Only signs that leave no doubt count in it.
  mutating func readSurroundings(_ node: Int, envelopes: [JSONSlice] = [], isOther: Bool = false) throws(Malformed) {
    let isAround = tree.steps[node].role.contains(.around) && envelopes.isEmpty
    let ownName = envelopes.last.map { word($0) } ?? AnswerSign.word(plan.tree.nodes[node].segment.utf8)
    let (object, first) = (scanner.at, statements.count)
    var isRecord = false
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return }
    repeat {
      let name = try scanner.name()
      // The definition names this place, or one inside it.
      if envelopes.isEmpty, case let child = find(name, in: node), child >= 0 {
        try readField(child)
        continue
      }
      let word = word(name)
      let isObject = scanner.peek() == UInt8(ascii: "{")
      let start = scanner.at
      let value: JSONSlice
      if isObject, envelopes.count < Self.maxEnvelopes, AnswerSign.envelopes.contains(word) {
        try readSurroundings(node, envelopes: envelopes + [name])
        value = JSONSlice(start, end: scanner.at, kind: .object)
      } else if isObject, isAround {
        try readSurroundings(node, envelopes: [name], isOther: true)
        value = JSONSlice(start, end: scanner.at, kind: .object)
      } else {
        value = try scanner.value()
      }
      if isAround || isOther, AnswerSign.identities.contains(word) { isRecord = true }
      guard let sign = AnswerSign.named(word, in: isAround ? nil : ownName) else { continue }
      statements.removeAll { $0.object == object && $0.word == word }
      statements.append(
        AnswerStatement(
          sign: sign, word: word, object: object, node: node, envelopes: envelopes, name: name, value: value))
    } while try scanner.goesOn(until: UInt8(ascii: "}"))
    guard isRecord || isOther, statements.count > first else { return }
    for index in (first..<statements.count).reversed() {
      if isOther {
        if isRecord || !statements[index].sign.isClear { statements.remove(at: index) }
      } else if let effect = statements[index].sign.besideID {
        statements[index].sign.effect = effect
      } else {
        statements.remove(at: index)
      }
    }
  }

  /// An object may be in another one, as `meta.pagination` is.
  private static let maxEnvelopes = 2

  /// A name as the table has it: its letters and digits in lower case.
  private mutating func word(_ name: JSONSlice) -> String { AnswerSign.word(text(name)) }

  /// The place of the member.
  mutating func place(of statement: AnswerStatement) -> JSONPointer {
    var segments = plan.tree.segments(statement.node)
    for name in statement.envelopes + [statement.name] {
      segments.append(String(decoding: text(name), as: UTF8.self))
    }
    return JSONPointer(segments: segments)
  }

  /// True if the value of a member makes it a sign.
  mutating func isMet(_ values: AnswerSign.Values, by value: JSONSlice) throws(Malformed) -> Bool {
    switch values {
    case .no: isFlag(value, false)
    case .yes: isFlag(value, true)
    case .flag: if case .integer = value.kind { false } else { isFlag(value, true) }
    case .anyFault: try !isGood(value)
    case .faults: if case .integer = value.kind { false } else { try !isGood(value) }
    case .positive: number(value).map { $0 > 0 } ?? false
    case .badStatus: isBadStatus(value)
    case .badWords: try has(AnswerSign.isLack, in: value)
    case .total: total(value).map { $0 > found.records } ?? false
    case .pages: number(value).map { $0 > 1 } ?? false
    case .links: try leadsOn(value)
    case .atLeast:
      if case .string = value.kind {
        ["gte", "gt"].contains(JSONEscapes.text(bytes, value).lowercased())
      } else {
        false
      }
    // Only its neighbours show that.
    case .below: false
    }
  }

  /// True if a list of links has one with `"rel": "next"`, or with `relation` as in FHIR.
  private mutating func leadsOn(_ links: JSONSlice) throws(Malformed) -> Bool {
    guard case .list = links.kind else { return false }
    for link in try elements(links) where link.kind.isObject {
      for name in ["rel", "relation"] {
        let relation = value(try look(for: JSONPointer(segments: [name]), from: Int(link.start)))
        if relation.kind == .text("next") { return true }
      }
    }
    return false
  }

  private func isFlag(_ value: JSONSlice, _ flag: Bool) -> Bool {
    switch value.kind {
    case .true: flag
    case .false: !flag
    case .integer: number(value) == (flag ? 1 : 0)
    case .string: Bool(written: JSONEscapes.text(bytes, value)) == flag
    case .absent, .null, .fraction, .escapedString, .list, .object: false
    }
  }

  private func isBadStatus(_ value: JSONSlice) -> Bool {
    switch value.kind {
    case .string, .escapedString:
      let text = JSONEscapes.text(bytes, value)
      return AnswerSign.isBad(text) || Int64(text).map(AnswerSign.errorStatuses.contains) ?? false
    case .integer: return number(value).map(AnswerSign.errorStatuses.contains) ?? false
    case .absent, .null, .true, .false, .fraction, .list, .object: return false
    }
  }

  func number(_ value: JSONSlice) -> Int64? {
    guard case .integer = value.kind else { return nil }
    return JSONNumber.integer(bytes, range: value.range)
  }

  /// A total, which may be written as a text.
  func total(_ value: JSONSlice) -> Int64? {
    if case .string = value.kind { return Int64(JSONEscapes.text(bytes, value)) }
    return number(value)
  }

  /// True if nothing in a value names a fault.
  private mutating func isGood(_ value: JSONSlice) throws(Malformed) -> Bool {
    switch value.kind {
    case .absent, .null, .false: return true
    case .true: return false
    case .integer: return number(value) == 0 || number(value) == 200
    case .fraction: return bytes[value.range].allSatisfy { !(0x31...0x39).contains($0) }
    case .string, .escapedString: return AnswerSign.isGood(JSONEscapes.text(bytes, value))
    case .list, .object:
      for element in try elements(value) where try !isGood(element) { return false }
      return true
    }
  }

  /// True if the value is a reason for an empty list: a flag, or a text with such a word.
  mutating func isReason(_ statement: AnswerStatement) throws(Malformed) -> Bool {
    if statement.sign.values != .anyFault { return true }
    return try has({ AnswerSign.isBad($0) || AnswerSign.isUnready($0) }, in: statement.value)
  }

  mutating func has(_ words: (String) -> Bool, in value: JSONSlice) throws(Malformed) -> Bool {
    switch value.kind {
    case .string, .escapedString: return words(JSONEscapes.text(bytes, value))
    case .list, .object:
      for element in try elements(value) where try has(words, in: element) { return true }
      return false
    case .absent, .null, .true, .false, .integer, .fraction: return false
    }
  }

  /// Number of elements that are enough to judge a list.
  private static let maxJudged = 100

  /// The first values of a list or an object.
  private mutating func elements(_ value: JSONSlice) throws(Malformed) -> [JSONSlice] {
    let behind = scanner
    defer { scanner = behind }
    scanner.at = Int(value.start)
    let end = value.kind.isList ? UInt8(ascii: "]") : UInt8(ascii: "}")
    var found: [JSONSlice] = []
    scanner.enter()
    if scanner.isEmpty(until: end) { return [] }
    repeat {
      if value.kind.isObject { _ = try scanner.name() }
      found.append(try scanner.value())
      if found.count == Self.maxJudged { return found }
    } while try scanner.goesOn(until: end)
    return found
  }
}
