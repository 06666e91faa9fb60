package import RosterJSON
import RosterModel

/// The verdict on the answer to a page request, or to `by_key`. An answer that calls itself partial or failed is not an
/// answer, and is never absence.
package enum AnswerReading: Sendable {
  /// The answer has its records.
  case records(PageScan)
  /// The answer has no list, and that means no records (`no_records`). The scan has the other values of the answer.
  case noRecords(PageScan)
  /// The answer is not an answer, for the reason that the clause says.
  case refused(String)
  /// The same, of an answer that has no list and says why.
  case refusedWithoutList(String)
}

extension RecordDecoder {
  /// Reads the body of a page: checks it (RFC 8259, UTF-8, an optional byte order mark), and collects the facts that a
  /// pull needs. A page of the style `record` is one record, or none if null is in its place (E9.1).
  ///
  /// Throws `Malformed` if the body is not JSON, has no list of records at the definition's place, or has more than
  /// 100,000 records. The caller decides whether the values at `count`, `last`, `more` and `at` suit the page style.
  package mutating func read(page body: [UInt8]) throws(Malformed) -> AnswerReading {
    try body.withUnsafeBufferPointer { bytes throws(Malformed) -> AnswerReading in
      defer { forget() }
      let start = Self.textStart(bytes)
      let reading = try isRecord ? readOne(bytes, from: start) : readList(bytes, from: start)
      guard case .records(let scan) = reading else { return reading }
      found = scan
      found.unseen = unseen
      try noteLack(from: start)
      return .records(found)
    }
  }

  /// The facts of a page that is an answer. Throws `Malformed` for any other.
  package mutating func scan(page body: [UInt8]) throws(Malformed) -> PageScan {
    switch try read(page: body) {
    case .records(let scan), .noRecords(let scan): return scan
    case .refused(let reason), .refusedWithoutList(let reason):
      throw Malformed(offset: 0, expected: "an answer, but \(reason),")
    }
  }

  /// The reason why the answer of `by_key` is not an answer; nil if it is one.
  package mutating func refusal(answer body: [UInt8]) throws(Malformed) -> String? {
    let rules = plan.resource.answers
    let place = plan.resource.byKeyRecords
    guard !place.isWhole || rules != AnswerRules() else { return nil }
    return try body.withUnsafeBufferPointer { bytes throws(Malformed) -> String? in
      defer { forget() }
      try startBody(bytes)
      let start = scanner.at
      _ = try scanner.value()
      try scanner.end()
      if let reason = try unmet(from: start) { return reason }
      for partial in rules.partial where try hasValue(at: partial, from: start) {
        return "it says at \(partial) that it is partial"
      }
      let value = try look(for: place, from: start)
      return value.kind == .null ? try fault(besides: place, from: start) : nil
    }
  }

  // MARK: Pages

  private mutating func readList(
    _ body: UnsafeBufferPointer<UInt8>, from start: Int
  ) throws(Malformed) -> AnswerReading {
    try startBody(body)
    let unnamed = readNames()
    let places = plan.places
    try readField(places.root)
    try scanner.end()
    let records = slots[places.records]
    if let reason = try refusal(from: start) { return .refused(reason) }
    let isMapped = isMap && records.kind.isObject
    if !records.kind.isList, !isMapped {
      guard plan.resource.answers.isListOfOne, records.kind.isObject else {
        return try withoutList(records, from: start)
      }
      scanner.at = Int(records.start)
      found = PageScan()
      highest = nil
      (found.recordsAt, lastRecord) = (scanner.at, scanner.at)
      try scanRecord()
    }
    if let fault = unnamed, found.records > 0 { throw fault }
    found.recordsEnd = Int(records.end)
    try notePlaces()
    found.highest = highestMark()
    return .records(found)
  }

  /// The error of the names of a row's values; nil if they are there.
  private mutating func readNames() -> Malformed? {
    do { try readRowNames() } catch { return error }
    return nil
  }

  private mutating func notePlaces() throws(Malformed) {
    let places = plan.places
    found.count = try pointed(places.count)
    found.last = try pointed(places.last)
    found.more = try pointed(places.more)
    found.at = try pointed(places.at)
    found.token = try pointed(places.token)
    if places.readsMembers { found.at = try members(of: found.at) }
    if places.readsElements { found.at = try elements(of: found.at) }
  }

  private mutating func readOne(
    _ body: UnsafeBufferPointer<UInt8>, from start: Int
  ) throws(Malformed) -> AnswerReading {
    try startBody(body)
    _ = try scanner.value()
    try scanner.end()
    scanner.at = start
    if let reason = try refusal(from: start) { return .refused(reason) }
    let place = plan.resource.records
    let value = try look(for: place, from: start)
    switch value.kind {
    case .absent:
      return try withoutList(.absent, from: start)
    case .null:
      if let reason = try fault(besides: place, from: start) { return .refused(reason) }
    case .boolean, .integer, .number, .text, .compound, .members, .elements: break
    }
    scanner.at = start
    return .records(try scanOne(body))
  }

  /// An answer without a list: it has no records if the definition says so, and nothing in it names a fault.
  private mutating func withoutList(_ value: JSONSlice, from start: Int) throws(Malformed) -> AnswerReading {
    let resource = plan.resource
    if let reason = try fault(besides: resource.records, from: start) { return .refusedWithoutList(reason) }
    let rules = resource.answers
    for partial in rules.partial where try hasValue(at: partial, from: start) {
      return .refused("it says at \(partial) that it is partial, and has no list of records at \"\(resource.records)\"")
    }
    let isNone =
      switch value.kind {
      case .null: rules.noRecords.isNull
      case .absent: rules.noRecords.isAbsent && !resource.records.isWhole
      case .false, .string, .object, .list: rules.noRecords.isAbsent && isEmptyPlaceholder(value)
      case .true, .integer, .fraction, .escapedString: false
      }
    guard isNone else {
      let expected = isRecord ? "a record, or null," : isMap ? "an object of records" : "a list of records"
      throw Malformed(offset: Int(value.start), expected: "\(expected) at \"\(resource.records)\"\(hint(for: value))")
    }
    found = PageScan()
    lastRecord = nil
    if !isRecord { try notePlaces() }
    (found.lacksList, found.recordsAt, found.recordsEnd) = (true, bytes.count, bytes.count)
    return .noRecords(found)
  }

  /// A clause with the key of a definition that permits this value where the list is expected; empty without a key.
  private func hint(for value: JSONSlice) -> String {
    switch value.kind {
    case .null: " (if it is null without records, set no_records = [\"null\"])"
    case .absent: " (if it is absent without records, set no_records = [\"absent\"])"
    case .object where !isRecord && !isMap && !plan.resource.records.isWhole:
      " (if a single record comes without a list, set list_of_one = true)"
    case .true, .false, .integer, .fraction, .string, .escapedString, .object, .list: ""
    }
  }

  // MARK: What an answer says about itself

  /// The reason why a page is not an answer; nil if it is one.
  private mutating func refusal(from start: Int) throws(Malformed) -> String? {
    if let reason = try unmet(from: start) { return reason }
    return try graphQLFault(from: start)
  }

  /// The first condition of `expect` that the answer does not meet, as a reason. Notes places without a value.
  private mutating func unmet(from start: Int) throws(Malformed) -> String? {
    unseen = []
    for condition in plan.resource.answers.expect {
      let value = try look(for: condition.at, from: start)
      // `absent` expects that nothing is there.
      if case .differs = condition.test, value.kind == .absent { unseen.append(condition.at) }
      if !condition.test.isMet(by: value.json) {
        let state = value.kind == .absent ? "it has nothing at \(condition.at)" : "\(condition.at) is \(value.shown)"
        return "\(state), and expect wants an answer whose \(condition.at) \(condition.test.clause)"
      }
    }
    return nil
  }

  /// A GraphQL answer with `errors` beside `data` is partial, unless the definition names the place in `partial`.
  private mutating func graphQLFault(from start: Int) throws(Malformed) -> String? {
    guard plan.resource.isGraphQL, plan.resource.records.segments.first != Self.errors.segments[0],
      !plan.resource.answers.partial.contains(where: { $0.segments.first == Self.errors.segments[0] }),
      try look(for: Self.data, from: start).kind != .absent, try hasValue(at: Self.errors, from: start)
    else { return nil }
    return "it has errors beside data"
  }

  private static let errors = JSONPointer(segments: ["errors"])
  private static let data = JSONPointer(segments: ["data"])
  /// Members with which upstream reports a fault.
  private static let faultNames = ["error", "errors", "fault", "message"]

  /// A member that names a fault, in an object on the way to the place of the records.
  private mutating func fault(besides place: JSONPointer, from start: Int) throws(Malformed) -> String? {
    for depth in 0..<max(1, place.segments.count) {
      for name in Self.faultNames where place.segments.count <= depth || place.segments[depth] != name {
        let member = JSONPointer(segments: Array(place.segments.prefix(depth)) + [name])
        if try hasValue(at: member, from: start) { return "it has a member \(member) and no records" }
      }
    }
    return nil
  }

  /// An answer that calls itself partial is noted as a rejected record of unknown key, which suspends all removals.
  private mutating func noteLack(from start: Int) throws(Malformed) {
    try noteConflicts()
    guard try partialPlace(from: start) != nil else { return }
    found.rejects += 1
    found.rejectsOfUnknownKey += 1
  }

  /// Notes differing records of one key as rejected records (P9).
  mutating func noteConflicts() throws(Malformed) {
    for conflict in occurrences.conflicts {
      found.rejects += 1
      let behind = scanner
      scanner.at = conflict.document.lowerBound
      _ = try readRecord()
      note(keySlice, outcome: .rejected(.duplicateKey))
      scanner = behind
    }
  }

  /// Number of the first place of `partial` that has a value.
  mutating func partialPlace(from start: Int) throws(Malformed) -> Int? {
    for (index, place) in plan.resource.answers.partial.enumerated() where try hasValue(at: place, from: start) {
      return index
    }
    return nil
  }

  /// False if the value is absent, null, false, or empty.
  private mutating func hasValue(at place: JSONPointer, from start: Int) throws(Malformed) -> Bool {
    let value = try look(for: place, from: start)
    return switch value.kind {
    case .absent, .null, .boolean(false), .text(""): false
    case .boolean, .integer, .number, .text, .members, .elements: true
    case .compound: !isEmptyCompound(at: value.offset)
    }
  }

  /// True for values that some servers write in place of an empty list or object.
  func isEmptyPlaceholder(_ value: JSONSlice) -> Bool {
    switch value.kind {
    case .false: true
    case .string: value.content.isEmpty
    case .list, .object: isEmptyCompound(at: Int(value.start))
    case .absent, .null, .true, .integer, .fraction, .escapedString: false
    }
  }

  private func isEmptyCompound(at start: Int) -> Bool {
    let first = bytes[(start + 1)...].first { $0 > UInt8(ascii: " ") }
    return first == UInt8(ascii: "]") || first == UInt8(ascii: "}")
  }
}

extension PointedValue {
  /// The value as a tree of one node; a list or an object is an empty object. nil if the value is absent.
  fileprivate var json: JSONValue? {
    switch kind {
    case .absent: nil
    case .null: .null
    case .boolean(let flag): .boolean(flag)
    case .integer(let number): .integer(number)
    case .number(let digits): .number(digits)
    case .text(let text): .text(text)
    case .compound, .members, .elements: .object([])
    }
  }

  fileprivate var shown: String {
    switch kind {
    case .absent: "absent"
    case .null: "null"
    case .text(let text): "\"\(text.prefix(40))\""
    case .compound, .members, .elements: "a list or an object"
    case .boolean, .integer, .number: json?.queryText ?? ""
    }
  }
}
