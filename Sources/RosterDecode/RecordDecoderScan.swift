import RosterCore

/// The pull's pass over a body.
extension RecordDecoder {
  /// The facts of an answer of `by_key`, which is the record or the list itself, or has it at `by_key_records`. The
  /// places of `pages` are not looked for. A null at `by_key_records` is no record, and so is a null answer if `by_key`
  /// has the key in its query.
  /// - Parameter isWhole: The records are the body, whatever `by_key_records` says.
  package mutating func scan(answer body: [UInt8], isWhole: Bool = false) throws(Malformed) -> PageScan {
    try body.withUnsafeBufferPointer { bytes throws(Malformed) -> PageScan in
      defer { forget() }
      try startBody(bytes)
      let start = scanner.at
      if isWhole || plan.resource.byKeyRecords.isWhole {
        let isNull = !isWhole && plan.resource.answersWithList && scanner.peek() == UInt8(ascii: "n")
        if isNull { _ = try scanner.value() } else { try scanAnswer(from: start) }
        try scanner.end()
        try noteConflicts()
        return found
      }
      scanner.at = try answerStart()
      if scanner.peek() != UInt8(ascii: "n") { try scanAnswer(from: start) }
      try noteConflicts()
      return found
    }
  }

  /// The position of the value at `by_key_records`. Throws if the body is not JSON as a whole.
  mutating func answerStart() throws(Malformed) -> Int {
    let place = plan.resource.byKeyRecords
    let start = scanner.at
    _ = try scanner.value()
    try scanner.end()
    guard let found = try find(place, from: start) else {
      throw Malformed(offset: start, expected: "a record or a list of them at \"\(place)\"")
    }
    return found
  }

  /// A map has one member, which is the record.
  mutating func scanOne(_ body: UnsafeBufferPointer<UInt8>) throws(Malformed) -> PageScan {
    let start = scanner.at
    let place = try find(plan.resource.records, from: start) ?? start
    scanner.at = start
    found.recordsAt = place
    if body[place] == UInt8(ascii: "n") { return found }
    try readRowNames()
    scanner.at = place
    switch (shape, scanner.peek()) {
    case (.map, UInt8(ascii: "{")): try scanRecords()
    case (.map, UInt8(ascii: "[")): try scanEmptyList()
    case (.values, _), (.objects, UInt8(ascii: "{")), (.rows, UInt8(ascii: "[")): try scanRecord()
    case (.map, _), (.objects, _), (.rows, _): throw scanner.malformed("a record at \"\(plan.resource.records)\"")
    }
    guard found.records <= 1 else {
      throw Malformed(offset: place, expected: "one record at \"\(plan.resource.records)\"")
    }
    return found
  }

  /// The record, or the list of records, at hand. An answer without a row needs no names of its values.
  /// - Parameter start: The beginning of the answer.
  private mutating func scanAnswer(from start: Int) throws(Malformed) {
    if plan.shape.rowNames != nil, hasRows() {
      let records = scanner.at
      scanner.at = start
      try readRowNames()
      scanner.at = records
    }
    switch scanner.peek() {
    case UInt8(ascii: "["): try isMap ? scanEmptyList() : scanRecords()
    case UInt8(ascii: "{") where isMap: try scanRecords()
    case UInt8(ascii: "{") where isNumberedList():
      isNumbered = true
      try scanRecords()
    case UInt8(ascii: "{") where !shape.isRows:
      found.recordsAt = scanner.at
      try scanRecord()
    default: throw scanner.malformed("a record or a list of them")
    }
  }

  mutating func startScan(_ body: UnsafeBufferPointer<UInt8>) throws(Malformed) {
    try startBody(body)
    try readRowNames()
  }

  mutating func startBody(_ body: UnsafeBufferPointer<UInt8>) throws(Malformed) {
    try start(body, at: Self.textStart(body))
    try JSONScanner.checkUTF8(body)
    collectsExtra = false
    found = PageScan()
  }

  /// The first byte after a byte order mark.
  static func textStart(_ body: UnsafeBufferPointer<UInt8>) -> Int {
    body.count >= 3 && body[0] == 0xEF && body[1] == 0xBB && body[2] == 0xBF ? 3 : 0
  }

  /// The body is its owner's again.
  mutating func forget() {
    scanner = JSONScanner(UnsafeBufferPointer(start: nil, count: 0))
    found = PageScan()
  }

  /// Reads the current list. If the same name occurs again, the later list replaces the earlier one.
  mutating func scanRecords() throws(Malformed) {
    found = PageScan()
    occurrences.removeAll()
    highest = nil
    lastRecord = nil
    (found.recordsAt, found.isList) = (scanner.at, true)
    scanner.enter()
    if scanner.isEmpty(until: recordsEnd) { return }
    repeat {
      if hasNames { memberName = try scanner.name() }
      if found.records == Self.maxRecords { throw scanner.malformed(Self.tooManyRecords) }
      _ = scanner.peek()
      lastRecord = scanner.at
      try scanRecord()
    } while try scanner.goesOn(until: recordsEnd)
  }

  /// An empty map as PHP writes it.
  mutating func scanEmptyList() throws(Malformed) {
    found = PageScan()
    lastRecord = nil
    (found.recordsAt, found.isList) = (scanner.at, true)
    scanner.enter()
    guard scanner.isEmpty(until: UInt8(ascii: "]")) else { throw scanner.malformed("an object of records") }
  }

  mutating func scanRecord() throws(Malformed) {
    let (start, position) = (scanner.at, found.records)
    found.records += 1
    let outcome = try readRecord()
    if case .storable = outcome { noteOccurrence(start..<scanner.at, position: position) }
    if plan.markNode != nil || plan.ordersKinds { noteMark(outcome) }
    switch outcome {
    case .storable: return note(keySlice, outcome: outcome)
    case .skipped: found.skipped += 1
    case .rejected:
      found.rejects += 1
      if !hasKey { found.rejectsOfUnknownKey += 1 }
    }
    if hasKey { note(keySlice, outcome: outcome) }
  }

  mutating func note(_ key: JSONSlice, outcome: Outcome) {
    if hasCompositeKey {
      writeCompositeKey()
      note(compositeKeyBytes, outcome: outcome)
    } else if isDetail {
      note(Self.detailKey, outcome: outcome)
    } else if case .integer = key.kind {
      guard let number = JSONNumber.integer(bytes, range: key.range) else { return }
      note(number, outcome: outcome)
    } else {
      note(text(key), outcome: outcome)
    }
  }

  /// The key of the only record of a list.
  static let detailKey: Int64 = 1

  private mutating func note(_ number: Int64, outcome: Outcome) {
    switch outcome {
    case .storable: found.keys.append(number)
    case .rejected: found.rejectedKeys.append(number)
    case .skipped: found.skippedKeys.append(number)
    }
  }

  private mutating func note(_ text: UnsafeBufferPointer<UInt8>, outcome: Outcome) {
    switch outcome {
    case .storable: found.keys.append(text)
    case .rejected: found.rejectedKeys.append(text)
    case .skipped: found.skippedKeys.append(text)
    }
  }

  // MARK: Values at since.at

  private mutating func noteMark(_ outcome: Outcome) {
    let value = mark
    if value == nil, let otherForm { found.otherForm = otherForm }
    if value == nil, case .storable = outcome, let node = plan.markNode, slots[node].kind != .null {
      found.hasOtherMark = true
    }
    if let value, value > highest?.value ?? PageScan.noMark, let node = plan.markNode {
      highest = (value, slots[node])
    }
    guard plan.ordersKinds, hasKey else { return }
    if plan.isIncremental, plan.markNode != nil { found.marks.append(value ?? PageScan.noMark) }
    switch outcome {
    case .storable: found.kinds.append(.storable)
    case .rejected: found.kinds.append(.rejected)
    case .skipped: found.kinds.append(.skipped)
    }
  }

  func highestMark() -> Mark? {
    guard let highest, let since = plan.resource.since else { return nil }
    return since.mark(markText(highest.slice))
  }

  private func markText(_ slice: JSONSlice) -> String {
    switch slice.kind {
    case .string, .escapedString: JSONEscapes.text(bytes, slice)
    default: written(slice)
    }
  }

  /// The value at `since.at` of the current record, in the form for comparisons; nil if it has not the named form.
  package var mark: Int64? {
    mutating get {
      guard let node = plan.markNode, let since = plan.resource.since else { return nil }
      let slice = slots[node]
      switch slice.kind {
      case .string:
        return Timestamp(UnsafeBufferPointer(rebasing: bytes[slice.content]), form: since.form, zone: since.zone)?.value
      case .integer where bytes[slice.range].contains(UInt8(ascii: "\\")):
        // Digits of a text with escapes, which an integer column has read without the quotes.
        let text = JSONSlice(Int(slice.start) - 1, end: Int(slice.end) + 1, kind: .escapedString)
        return since.mark(JSONEscapes.text(bytes, text))?.value
      case .integer, .fraction:
        return Timestamp(UnsafeBufferPointer(rebasing: bytes[slice.range]), form: since.form, zone: since.zone)?.value
      case .escapedString: return since.mark(JSONEscapes.text(bytes, slice))?.value
      case .absent, .null, .true, .false, .list, .object: return nil
      }
    }
  }

  /// The form of the value at `since.at` of the current record, if it is a time of another form.
  private var otherForm: TimeForm? {
    guard let node = plan.markNode, let form = plan.resource.since?.form else { return nil }
    let slice = slots[node]
    switch slice.kind {
    case .string: return Timestamp.otherForm(of: UnsafeBufferPointer(rebasing: bytes[slice.content]), than: form)
    case .escapedString:
      var text = JSONEscapes.text(bytes, slice)
      return text.withUTF8 { Timestamp.otherForm(of: $0, than: form) }
    case .absent, .null, .true, .false, .list, .object, .integer, .fraction: return nil
    }
  }

  // MARK: Values besides the records

  mutating func pointed(_ place: AnswerPlaces.Place) throws(Malformed) -> PointedValue { value(try slice(place)) }

  /// The value at a place, which may be absent.
  mutating func slice(_ place: AnswerPlaces.Place) throws(Malformed) -> JSONSlice {
    switch place {
    case .nowhere: return .absent
    case .node(let node): return slots[node]
    case .inRecords(let pointer): return try look(for: pointer, from: found.recordsAt)
    case .inLastRecord(let pointer):
      guard let lastRecord else { return .absent }
      if isMap, pointer == Self.memberNamePlace { return memberName }
      let value = try look(for: pointer, inRecordAt: lastRecord)
      return [.absent, .null].contains(value.kind) && found.isList ? try lastValue(at: pointer) ?? value : value
    }
  }

  private mutating func look(
    for pointer: JSONPointer, inRecordAt start: Int
  ) throws(Malformed) -> JSONSlice {
    try inRecord(pointer, from: start).map { (place) throws(Malformed) in try look(for: place, from: start) } ?? .absent
  }

  /// The value at a place in the last record that has one. The record after it may be null.
  private mutating func lastValue(at pointer: JSONPointer) throws(Malformed) -> JSONSlice? {
    let behind = scanner
    defer { scanner = behind }
    scanner.at = found.recordsAt
    scanner.enter()
    if scanner.isEmpty(until: recordsEnd) { return nil }
    var last: JSONSlice?
    repeat {
      if hasNames { _ = try scanner.name() }
      _ = scanner.peek()
      let value = try look(for: pointer, inRecordAt: scanner.at)
      if ![.absent, .null].contains(value.kind) { last = value }
      _ = try scanner.value()
    } while try scanner.goesOn(until: recordsEnd)
    return last
  }

  /// The value that leads to the next page.
  mutating func next(_ places: AnswerPlaces) throws(Malformed) -> JSONSlice {
    let found = try slice(places.at)
    guard let entry = places.entry else { return found }
    guard case .list = found.kind else { return .absent }
    let end = scanner.at
    defer { scanner.at = end }
    scanner.at = Int(found.start)
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "]")) { return .absent }
    repeat {
      _ = scanner.peek()
      let start = scanner.at
      if try fulfils(entry.conditions, from: start) { return try look(for: entry.value, from: start) }
      _ = try scanner.value()
    } while try scanner.goesOn(until: UInt8(ascii: "]"))
    return .absent
  }

  private mutating func fulfils(_ conditions: [Resource.Condition], from start: Int) throws(Malformed) -> Bool {
    for condition in conditions {
      guard condition.test.isMet(by: value(try look(for: condition.at, from: start)).json) else { return false }
    }
    return true
  }

  func value(_ slice: JSONSlice) -> PointedValue {
    let kind: PointedValue.Kind =
      switch slice.kind {
      case .absent: .absent
      case .null: .null
      case .true: .boolean(true)
      case .false: .boolean(false)
      case .integer: JSONNumber.integer(bytes, range: slice.range).map { .integer($0) } ?? .number(written(slice))
      case .fraction: .number(written(slice))
      case .string, .escapedString: .text(JSONEscapes.text(bytes, slice))
      case .list, .object: .compound
      }
    return PointedValue(kind, offset: Int(slice.start))
  }

  /// Reads the members of an object; returns any other value unchanged. If a name occurs several times, the last
  /// occurrence wins.
  mutating func members(of value: PointedValue) throws(Malformed) -> PointedValue {
    guard value.kind == .compound, bytes[value.offset] == UInt8(ascii: "{") else { return value }
    let end = scanner.at
    defer { scanner.at = end }
    scanner.at = value.offset
    var found: [[UInt8]: JSONValue] = [:]
    scanner.enter()
    if !scanner.isEmpty(until: UInt8(ascii: "}")) {
      repeat {
        let name = Array(text(try scanner.name()))
        found[name] = try scalar()
      } while try scanner.goesOn(until: UInt8(ascii: "}"))
    }
    let members = found.filter { $0.value != .null }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    return PointedValue(
      .members(members.map { .init(String(decoding: $0.key, as: UTF8.self), $0.value) }), offset: value.offset)
  }

  /// Reads a list or an object; returns any other value unchanged.
  mutating func whole(_ value: PointedValue) throws(Malformed) -> PointedValue {
    guard value.kind == .compound else { return value }
    let end = scanner.at
    defer { scanner.at = end }
    scanner.at = value.offset
    guard let json = try? JSONValue(json: bytes[try scanner.value().range]) else {
      throw Malformed(offset: value.offset, expected: "a list or an object to be sent in a body")
    }
    return PointedValue(.whole(json), offset: value.offset)
  }

  /// Reads the current value as a scalar.
  private mutating func scalar() throws(Malformed) -> JSONValue {
    _ = scanner.peek()
    let start = scanner.at
    switch value(try scanner.value()).kind {
    case .null, .absent: return .null
    case .boolean(let flag): return .boolean(flag)
    case .integer(let number): return .integer(number)
    case .number(let digits): return .number(digits)
    case .text(let text): return .text(text)
    case .compound, .members, .whole:
      throw Malformed(offset: start, expected: "a text, a number or a boolean, to be sent as a parameter")
    }
  }

  private func written(_ slice: JSONSlice) -> String { String(decoding: bytes[slice.range], as: UTF8.self) }

  /// Goes to a place below the value that begins at `start`, by reading that value again. A style looks into one record
  /// or a few elements only.
  mutating func look(for pointer: JSONPointer, from start: Int) throws(Malformed) -> JSONSlice {
    let behind = scanner
    defer { scanner = behind }
    guard let place = try find(pointer, from: start) else { return .absent }
    scanner.at = place
    return try scanner.value()
  }

  /// The first byte of a value below the value that begins at `start`; nil if it is absent. Moves the scanner.
  mutating func find(_ pointer: JSONPointer, from start: Int) throws(Malformed) -> Int? {
    var place = start
    for segment in pointer.segments {
      scanner.at = place
      guard let inner = try member(segment) else { return nil }
      place = inner
    }
    return place
  }

  /// Offset of a member, or element, of the current value; nil if it does not exist.
  private mutating func member(_ segment: String) throws(Malformed) -> Int? {
    switch scanner.peek() {
    case UInt8(ascii: "{"): try lastMember(Array(segment.utf8))
    case UInt8(ascii: "["): if let index = JSONPointer.index(segment) { try element(index) } else { nil }
    default: nil
    }
  }

  private mutating func lastMember(_ segment: [UInt8]) throws(Malformed) -> Int? {
    var place: Int?
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return nil }
    repeat {
      let name = text(try scanner.name())
      let isIt = name.elementsEqual(segment)
      _ = scanner.peek()
      if isIt { place = scanner.at }
      _ = try scanner.value()
    } while try scanner.goesOn(until: UInt8(ascii: "}"))
    return place
  }

  private mutating func element(_ index: Int) throws(Malformed) -> Int? {
    var rest = index
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "]")) { return nil }
    repeat {
      _ = scanner.peek()
      if rest == 0 { return scanner.at }
      rest -= 1
      _ = try scanner.value()
    } while try scanner.goesOn(until: UInt8(ascii: "]"))
    return nil
  }
}
