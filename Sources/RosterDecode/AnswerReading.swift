import RosterCore

/// The verdict on the answer to a page request, or to `by_key`. An answer that calls itself partial or failed is not an
/// answer, and is never absence.
package enum AnswerReading: Sendable {
  /// The answer has its records.
  case records(PageScan)
  /// The answer has no list, and that means no records (`no_records`). The scan has the other values of the answer.
  case noRecords(PageScan)
  /// The answer is not an answer.
  case refused(AnswerRefusal)
  /// The answer has no list and says why, so it is not an answer either.
  case refusedWithoutList(AnswerRefusal)
}

extension RecordDecoder {
  /// Reads the body of a page: checks it (RFC 8259, UTF-8, an optional byte order mark), and collects the facts that a
  /// pull needs. A page of the style `record` is one record, or none if null is in its place.
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
      try noteLack()
      return .records(found)
    }
  }

  /// The facts of a page that is an answer. Throws `Malformed` for any other.
  package mutating func scan(page body: [UInt8]) throws(Malformed) -> PageScan {
    switch try read(page: body) {
    case .records(let scan), .noRecords(let scan): return scan
    case .refused(let refusal), .refusedWithoutList(let refusal):
      throw Malformed(offset: 0, expected: "an answer, but \(refusal.reason),")
    }
  }

  /// The reason why the answer of `by_key` is not an answer; nil if it is one.
  package mutating func refusal(answer body: [UInt8]) throws(Malformed) -> AnswerRefusal? {
    guard let places = plan.placesByKey else { return nil }
    return try body.withUnsafeBufferPointer { bytes throws(Malformed) -> AnswerRefusal? in
      defer { forget() }
      try startBody(bytes)
      try readField(places.root)
      try scanner.end()
      found.recordsAt = Int(slots[places.records].start)
      if let refusal = try unmet(places) { return refusal }
      let hasNone = isEmptyPlaceholder(slots[places.records])
      for sign in statements {
        switch sign.sign.effect {
        case .fails, .isPartial, .lacks: if try isMet(sign) { return refusal(sign) }
        case .goesOn: if hasNone, sign.sign.values == .total, try isMet(sign) { return refusal(sign) }
        case .explains, .isLowerBound: continue
        }
      }
      if let lack = try lack(places) { return AnswerRefusal("it says at \(lack.at) that it is partial") }
      if case .null = slots[places.records].kind { return try namedFault() }
      return nil
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
    try expectOnce(records)
    let isOne = plan.resource.answers.isListOfOne && records.kind.isObject && !isNumbered
    let hasList = records.kind.isList || hasNames && records.kind.isObject || isOne
    if let refused = try refusal(places, hasList: hasList) { return refused }
    guard hasList else { return try withoutList(records) }
    if isOne, !isMap {
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

  /// Throws if the answer has two lists of records at the same place that differ. Readers take one of them, and the
  /// records of the other one are lost.
  private func expectOnce(_ records: JSONSlice) throws(Malformed) {
    guard let replacedList, !bytes[replacedList.range].elementsEqual(bytes[records.range]) else { return }
    throw Malformed(
      offset: Int(replacedList.start),
      expected:
        "one list of records at \"\(plan.resource.records)\": the answer has that member twice, and they differ,")
  }

  /// The error of the names of a row's values; nil if they are there.
  private mutating func readNames() -> Malformed? {
    do { try readRowNames() } catch { return error }
    return nil
  }

  private mutating func notePlaces() throws(Malformed) {
    let places = plan.places
    found.count = try pointed(places.count)
    if let total = unnamedTotal() {
      found.count = PointedValue(.integer(total.number), offset: Int(total.statement.value.start))
    }
    found.isTotalLowerBound = false
    for statement in statements where statement.sign.effect == .isLowerBound && !found.isTotalLowerBound {
      found.isTotalLowerBound = try isMet(statement)
    }
    found.last = try pointed(places.last)
    found.more = try pointed(places.more)
    let next = try next(places)
    let isNone = places.isNextValueOfAnswer && isEmptyPlaceholder(next)
    found.at = isNone ? PointedValue(.null, offset: Int(next.start)) : value(next)
    found.token = try pointed(places.token)
    try noteUnnamedMore()
    if places.readsMembers { found.at = try members(of: found.at) }
    if places.readsWhole { found.at = try whole(found.at) }
  }

  private mutating func readOne(
    _ body: UnsafeBufferPointer<UInt8>, from start: Int
  ) throws(Malformed) -> AnswerReading {
    try startBody(body)
    let places = plan.places
    try readField(places.root)
    try scanner.end()
    let value = slots[places.records]
    found.recordsAt = Int(value.start)
    if let refused = try refusal(places, hasList: !value.kind.isAbsent) { return refused }
    if value.kind.isAbsent { return try withoutList(value) }
    if case .null = value.kind, let refusal = try namedFault() { return .refused(refusal) }
    scanner.at = start
    let scan = try scanOne(body)
    // An answer that is the record itself may be an error instead.
    if plan.resource.records.isWhole, scan.records > 0, hasNoColumn, let refusal = try namedFault() {
      return .refused(refusal)
    }
    return .records(scan)
  }

  /// True if the record at hand has no value in any column.
  private var hasNoColumn: Bool {
    tree.record.columns.allSatisfy { [.absent, .null].contains(slots[Int($0.node)].kind) }
  }

  /// An answer without a list: it has no records if the definition says so, and nothing in it names a fault.
  private mutating func withoutList(_ value: JSONSlice) throws(Malformed) -> AnswerReading {
    let resource = plan.resource
    if let refusal = try namedFault() { return .refusedWithoutList(refusal) }
    let rules = resource.answers
    found.lacksList = true
    if let lack = try lack(plan.places) {
      let reason = "it says at \(lack.at) that it is partial, and has no list of records at \"\(resource.records)\""
      return .refused(AnswerRefusal(reason, sign: lack.cause == .declared ? nil : lack.at))
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
    if isEmptyPlaceholder(value) { return " (if it is so without records, set no_records = [\"absent\"])" }
    return switch value.kind {
    case .null: " (if it is null without records, set no_records = [\"null\"])"
    case .absent: " (if it is absent without records, set no_records = [\"absent\"])"
    case .list where isRecord: " (if it is a list of one record, set records = \"\(plan.resource.records)/0\")"
    case .object where !isRecord && !isMap && !plan.resource.records.isWhole:
      " (if a single record comes without a list, set list_of_one = true)"
    case .true, .false, .integer, .fraction, .string, .escapedString, .object, .list: ""
    }
  }

  // MARK: What an answer says about itself

  /// The refusal of a page that is not an answer; nil if it is one.
  private mutating func refusal(_ places: AnswerPlaces, hasList: Bool) throws(Malformed) -> AnswerReading? {
    if let refusal = try unmet(places) { return .refused(refusal) }
    // The members of the only record say nothing about the answer.
    if hasList, plan.resource.records.isWhole { return try mapFault().map { .refused($0) } }
    let isEmpty = hasList && !isRecord && found.records == 0
    for sign in statements {
      if isEmpty, sign.sign.values == .badStatus, try has(AnswerSign.isUnready, in: sign.value) {
        return .refused(refusal(sign))
      }
      switch sign.sign.effect {
      case .isPartial: if try isMet(sign) { return .refused(refusal(sign)) }
      case .fails:
        guard try isMet(sign) else { continue }
        return hasList ? .refused(refusal(sign)) : .refusedWithoutList(refusal(sign))
      case .explains:
        guard isEmpty, try isMet(sign), try isReason(sign) else { continue }
        return .refused(refusal(sign))
      case .lacks, .goesOn, .isLowerBound: continue
      }
    }
    return nil
  }

  /// The highest number of members of an object that may be an error instead of a map of records.
  private static let maxErrorMembers = 10

  /// The fault of an answer that should be a map. Its member `error` or the like is a text, or an object without a
  /// value in any column. A map of texts may have members of any name.
  private mutating func mapFault() throws(Malformed) -> AnswerRefusal? {
    guard isMap, (1...Self.maxErrorMembers).contains(found.records),
      !plan.resource.columns.contains(where: { $0.at.segments == [Resource.Shape.value] })
    else { return nil }
    let behind = scanner
    defer { scanner = behind }
    scanner.at = found.recordsAt
    scanner.enter()
    if scanner.isEmpty(until: recordsEnd) { return nil }
    repeat {
      let name = try scanner.name()
      let word = AnswerSign.word(text(name))
      _ = scanner.peek()
      let start = scanner.at
      let value = try scanner.value()
      guard let sign = AnswerSign.named(word, in: nil), sign.namesFault, sign.effect == .fails,
        try isMet(.anyFault, by: value)
      else { continue }
      memberName = name
      let end = scanner.at
      scanner.at = start
      if value.kind.isObject {
        _ = try readRecord()
        if hasColumnOfItsOwn { continue }
      }
      scanner.at = end
      let at = JSONPointer(segments: [String(decoding: text(name), as: UTF8.self)])
      return AnswerRefusal("it has a member \(at) instead of a record")
    } while try scanner.goesOn(until: recordsEnd)
    return nil
  }

  /// True if the record at hand has a value in a column besides its name.
  private var hasColumnOfItsOwn: Bool {
    zip(plan.resource.columns, tree.record.columns).contains { column, place in
      column.at.segments != [Resource.Shape.memberName] && ![.absent, .null].contains(slots[Int(place.node)].kind)
    }
  }

  /// The first condition of `expect` that the answer does not meet. Notes places without a value.
  private mutating func unmet(_ places: AnswerPlaces) throws(Malformed) -> AnswerRefusal? {
    unseen = []
    for (condition, place) in zip(plan.resource.answers.expect, places.expect) where condition.test != .any {
      let value = try pointed(place)
      // `absent` expects that nothing is there.
      if case .differs = condition.test, value.kind == .absent { unseen.append(condition.at) }
      if !condition.test.isMet(by: value.json) {
        let state = value.kind == .absent ? "it has nothing at \(condition.at)" : "\(condition.at) is \(value.shown)"
        return AnswerRefusal("\(state), and expect wants an answer whose \(condition.at) \(condition.test.clause)")
      }
    }
    return nil
  }

  /// True if the member is a sign by its value too. Ask for its effect first, because a text takes longer to judge.
  private mutating func isMet(_ statement: AnswerStatement) throws(Malformed) -> Bool {
    if case .below(let word) = statement.sign.values {
      let whole = try member(word, of: statement)
      guard let part = number(statement.value), let all = number(whole) else { return false }
      return part < all
    }
    return try isMet(statement.sign.values, by: statement.value)
  }

  /// The member of this name, as the table has it, in the object of a statement.
  private mutating func member(_ word: String, of statement: AnswerStatement) throws(Malformed) -> JSONSlice {
    let behind = scanner
    defer { scanner = behind }
    scanner.at = statement.object
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return .absent }
    repeat {
      let name = try scanner.name()
      let value = try scanner.value()
      if AnswerSign.word(text(name)) == word { return value }
    } while try scanner.goesOn(until: UInt8(ascii: "}"))
    return .absent
  }

  private mutating func refusal(_ sign: AnswerStatement) -> AnswerRefusal {
    let at = place(of: sign)
    return AnswerRefusal("\(at) is \(value(sign.value).shown)", sign: at)
  }

  /// The first member that names a fault, in an answer without records.
  private mutating func namedFault() throws(Malformed) -> AnswerRefusal? {
    for statement in statements where statement.envelopes.isEmpty && statement.sign.namesFault {
      guard try isMet(.anyFault, by: statement.value) else { continue }
      let at = place(of: statement)
      return AnswerRefusal("it has a member \(at) and no records", sign: at)
    }
    return nil
  }

  /// The first place at which an answer says what it lacks.
  mutating func lack(_ places: AnswerPlaces) throws(Malformed) -> AnswerLack? {
    for (pointer, place) in zip(plan.resource.answers.partial, places.partial) {
      let value = try slice(place)
      let sign = pointer.segments.last.flatMap { AnswerSign.named(AnswerSign.word($0.utf8), in: nil) }
      let says = if let sign, sign.isJudged { try isMet(sign.values, by: value) } else { hasValue(value) }
      if says { return AnswerLack(at: pointer, cause: .declared, value: value) }
    }
    if plan.resource.records.isWhole { return nil }
    for sign in statements {
      switch sign.sign.effect {
      case .lacks:
        guard try isMet(sign) else { continue }
        return AnswerLack(at: self.place(of: sign), cause: .sign, value: sign.value)
      case .goesOn:
        // Only the end of the list shows whether a total is contrary.
        guard places.root == plan.places.root, sign.sign.values != .total || found.lacksList,
          try isUnfollowed(sign.sign, places), try isMet(sign)
        else { continue }
        if sign.sign.values == .pages, try isCalledWhole() { continue }
        return AnswerLack(at: self.place(of: sign), cause: .unfollowed, value: sign.value)
      case .fails, .isPartial, .explains, .isLowerBound: continue
      }
    }
    return nil
  }

  /// True if another member says that no page follows. Some servers count pages of a size that they do not use.
  private mutating func isCalledWhole() throws(Malformed) -> Bool {
    for other in statements where other.sign.effect == .goesOn {
      switch other.sign.values {
      case .yes: if try isMet(.no, by: other.value) { return true }
      case .no: if try isMet(.yes, by: other.value) { return true }
      case .total: if total(other.value) == Int64(found.records) { return true }
      case .flag, .anyFault, .faults, .positive, .badStatus, .badWords, .pages, .links, .atLeast, .below: continue
      }
    }
    return false
  }

  /// True if the list ends at this answer by its definition, which has no key for a sign that it goes on.
  private mutating func isUnfollowed(_ sign: AnswerSign, _ places: AnswerPlaces) throws(Malformed) -> Bool {
    let pages = plan.resource.pages
    if isRecord || pages.count != nil || pages.style.last != nil { return false }
    // Only a number of records that are left contradicts `more` and `done`.
    if pages.ending != nil { return sign.values == .positive ? try saysOver(places) : false }
    if [.pages, .links].contains(sign.values), pages.style.kind.step != .stops { return false }
    switch pages.style.kind.step {
    case .stops: return true
    case .counts, .sends(.ofLastRecord):
      // Some servers name a next page after the last one too.
      return found.records == 0 && pages.empty != .end && [.yes, .no].contains(sign.values)
    case .sends(.ofAnswer), .follows(.ofAnswer):
      guard case .node = places.at, sign.values != .total else { return false }
      return try !hasValue(next(places))
    case .follows(.ofLinkHeader): return false
    }
  }

  /// True if `more` is false, or `done` true.
  private mutating func saysOver(_ places: AnswerPlaces) throws(Malformed) -> Bool {
    try isMet(plan.resource.pages.more == nil ? .yes : .no, by: slice(places.more))
  }

  /// Notes members that say that the list goes on, if no key of the definition names one.
  private mutating func noteUnnamedMore() throws(Malformed) {
    guard plan.takesUnnamedMore, found.records > 0 else { return }
    for statement in statements where statement.sign.effect == .goesOn {
      switch statement.sign.values {
      case .pages: found.numberOfPages = max(found.numberOfPages, number(statement.value) ?? 0)
      case .total: continue
      case .yes, .no, .flag, .anyFault, .faults, .positive, .badStatus, .badWords, .links, .atLeast, .below:
        if try isMet(statement) { found.goesOn = true }
      }
    }
  }

  /// The member with the highest total, if no key of the definition names one. Beside a total of what a filter leaves,
  /// the others count more than the list: `recordsFiltered` and `recordsTotal`.
  func unnamedTotal() -> (statement: AnswerStatement, number: Int64)? {
    guard plan.resource.pages.takesUnnamedTotal, !plan.resource.records.isWhole else { return nil }
    let totals = statements.compactMap { statement -> (statement: AnswerStatement, number: Int64)? in
      guard statement.sign.values == .total, let number = total(statement.value) else { return nil }
      return (statement, number)
    }
    let ofFilter = totals.filter { AnswerSign.isOfFilter($0.statement.word) }
    return (ofFilter.isEmpty ? totals : ofFilter).filter { $0.number > 0 }.max { $0.number < $1.number }
  }

  /// Notes differing records of one key, and an answer that calls itself partial.
  private mutating func noteLack() throws(Malformed) {
    try noteConflicts()
    if let lack = try lack(plan.places) { found.noteLack(isAccepted: lack.cause == .declared) }
  }

  /// Notes differing records of one key as rejected records.
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

  /// False if the value is absent, null, false, or empty.
  private func hasValue(_ value: JSONSlice) -> Bool {
    switch value.kind {
    case .absent, .null, .false: false
    case .true, .integer, .fraction, .escapedString: true
    case .string: !value.content.isEmpty
    case .list, .object: !isEmptyCompound(at: Int(value.start))
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
  var json: JSONValue? {
    switch kind {
    case .absent: nil
    case .null: .null
    case .boolean(let flag): .boolean(flag)
    case .integer(let number): .integer(number)
    case .number(let digits): .number(digits)
    case .text(let text): .text(text)
    case .compound, .members, .whole: .object([])
    }
  }

  fileprivate var shown: String {
    switch kind {
    case .absent: "absent"
    case .null: "null"
    case .text(let text): "\"\(text.prefix(40))\""
    case .compound, .members, .whole: "a list or an object"
    case .boolean, .integer, .number: json?.queryText ?? ""
    }
  }
}
