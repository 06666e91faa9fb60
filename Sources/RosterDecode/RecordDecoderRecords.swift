package import RosterCore

/// The publication's pass: one record after the other.
extension RecordDecoder {
  /// Starts the publication's pass over a body that `scan` has accepted. UTF-8, and everything outside the records, is
  /// not checked again. The bytes must stay in place until the last call that reads them.
  ///
  /// - Parameters:
  ///   - start: `PageScan.recordsAt`.
  ///   - mayLack: False if the scan has found that the answer does not say that it lacks records.
  package mutating func begin(
    _ body: UnsafeBufferPointer<UInt8>, at start: Int, mayLack: Bool = true
  ) throws(Malformed) {
    try self.start(body, at: start)
    collectsExtra = true
    (position, elements) = (-1, 0)
    // The records of an answer without a list begin at its end, and such an answer lacks nothing.
    recordsAt = start == body.count || !mayLack ? nil : start
    if start == body.count || (isRecord && scanner.peek() == UInt8(ascii: "n")) {
      progress = .ended
      return
    }
    if plan.shape.rowNames != nil, isRecord || hasRows() {
      scanner.at = Self.textStart(body)
      try readRowNames()
      scanner.at = start
    }
    switch scanner.peek() {
    case _ where isRecord && shape.readsLists: progress = .single
    case UInt8(ascii: "[") where isMap: progress = .ended
    case UInt8(ascii: "[") where !isMap, UInt8(ascii: "{") where isMap || isNumberedList():
      isNumbered = !isMap && scanner.peek() == UInt8(ascii: "{")
      scanner.enter()
      progress = .beforeFirst
    case UInt8(ascii: "{"): progress = .single
    default:
      progress = .ended
      throw scanner.malformed("records")
    }
  }

  /// An answer without a row may have no names either.
  mutating func hasRows() -> Bool {
    let behind = scanner
    defer { scanner = behind }
    guard scanner.take(UInt8(ascii: "[")) else { return true }
    return !scanner.take(UInt8(ascii: "]"))
  }

  /// The result of `next`.
  package enum Step {
    /// A record that can be stored: read it by `key`, `column`, `extra` and `openList`.
    case record
    /// A record that cannot be stored: read it by `reject`.
    case rejected
  }

  /// Reads the next record that `where` does not exclude, in the body's order; nil after the last record.
  package mutating func next() throws(Malformed) -> Step? {
    while try advances() {
      position += 1
      elements += 1
      _ = scanner.peek()
      let start = scanner.at
      let outcome = try readRecord()
      document = start..<scanner.at
      switch outcome {
      case .skipped: continue
      case .storable:
        noteOccurrence(document, position: position)
        prepareRecord()
        return .record
      case .rejected(let fault):
        self.fault = fault
        record.begin()
        if hasKey { prepareKey() }
        return .rejected
      }
    }
    if try rejectsDuplicate() { return .rejected }
    return try rejectsPartial() ? .rejected : nil
  }

  /// Places of columns and lists at which none of the first records has anything.
  /// - Parameters:
  ///   - start: `PageScan.recordsAt`.
  ///   - sample: Number of records.
  package mutating func placesWithoutValue(
    in body: [UInt8], at start: Int, sample: Int
  ) throws(Malformed) -> [JSONPointer] {
    try body.withUnsafeBufferPointer { bytes throws(Malformed) in
      defer { forget() }
      try begin(bytes, at: start, mayLack: false)
      let places = zip(plan.resource.columns.map(\.at), tree.record.columns.map { Int($0.node) })
      var open = Array(places) + Array(zip(plan.resource.lists.map(\.at), plan.lists.map(\.node)))
      for _ in 0..<sample where !open.isEmpty {
        guard try next() == .record else { return [] }
        open.removeAll { slots[$0.1].kind != .absent }
      }
      return open.map(\.0)
    }
  }

  /// After the last record: true if there is another record whose key a later one has too. It is read once more.
  private mutating func rejectsDuplicate() throws(Malformed) -> Bool {
    if occurrences.conflicts.isEmpty { return false }
    guard let (document, position) = occurrences.popConflict() else { return false }
    let behind = scanner
    defer { scanner = behind }
    scanner.at = document.lowerBound
    _ = try readRecord()
    (self.document, self.position, fault) = (document, position, .duplicateKey)
    record.begin()
    prepareKey()
    return true
  }

  /// After the last record: true if the answer says that it is partial, which is reported like a rejected record.
  private mutating func rejectsPartial() throws(Malformed) -> Bool {
    guard let start = recordsAt else { return false }
    recordsAt = nil
    let behind = scanner
    defer { scanner = behind }
    guard let lack = try lack(besides: start..<max(start, scanner.at)) else { return false }
    report(.partialAnswer(at: lack.at, lack.cause), document: lack.value.range)
    return true
  }

  /// Reports a fault of the answer itself like a rejected record. It has a negative position.
  private mutating func report(_ fault: RecordFault, document: Range<Int>) {
    (self.fault, self.document, position) = (fault, document, min(position, 0) - 1)
    tree.record.nodes.update(repeating: .absent)
    record.begin()
  }

  /// After `next` has returned nil: reports a lack that the body alone does not show (`PageScan.noteLack`). The list
  /// ends before a total of the answer, or the answer has a Warning header.
  /// - Parameters:
  ///   - start: `PageScan.recordsAt`.
  ///   - isByTotal: True if the page is stored with a total.
  package mutating func rejectUnseen(at start: Int, isByTotal: Bool) throws(Malformed) {
    let behind = scanner
    defer { scanner = behind }
    guard isByTotal else { return report(.warnedAnswer, document: 0..<0) }
    guard start < bytes.count, try readAround(start..<max(start, scanner.at)), let total = unnamedTotal() else {
      return report(.headerTotal, document: 0..<0)
    }
    report(.partialAnswer(at: place(of: total.statement), .total), document: total.statement.value.range)
  }

  /// The member around a list of records that says what the list lacks. An answer of `by_key` has another form, and is
  /// whole.
  private mutating func lack(besides records: Range<Int>) throws(Malformed) -> AnswerLack? {
    try readAround(records) ? lack(plan.places) : nil
  }

  /// Reads the objects around the records once more. False if the records are at another place.
  private mutating func readAround(_ records: Range<Int>) throws(Malformed) -> Bool {
    (passed, found.recordsAt, found.records) = (records, records.lowerBound, elements)
    statements.removeAll()
    scanner.at = Self.textStart(bytes)
    try readField(plan.places.root)
    let place = slots[plan.places.records]
    return !place.kind.isAbsent && Int(place.start) == records.lowerBound
  }

  private mutating func advances() throws(Malformed) -> Bool {
    var progress = progress
    defer { self.progress = progress }
    guard try advance(&progress, until: recordsEnd) else { return false }
    if hasNames { memberName = try scanner.name() }
    return true
  }

  /// Moves to the next element of a list; false after its end.
  private mutating func advance(_ progress: inout Progress, until end: UInt8) throws(Malformed) -> Bool {
    switch progress {
    case .ended: return false
    case .single:
      progress = .ended
      return true
    case .beforeFirst: progress = scanner.isEmpty(until: end) ? .ended : .inside
    case .inside: if try !scanner.goesOn(until: end) { progress = .ended }
    }
    return progress == .inside
  }

  private mutating func prepareRecord() {
    record.begin()
    if hasCompositeKey { writeCompositeKey() }
    if needsPreparing {
      for column in tree.record.columns.indices { prepare(column: column) }
    }
    guard hasExtra(tree.record.root) else { return }
    var scratch = ByteScratch(capacity: 0)
    swap(&scratch, &record.scratch)
    record.extra = writeExtra(tree.record.root, into: &scratch)
    swap(&scratch, &record.scratch)
  }

  /// The key of a record that cannot be stored.
  private mutating func prepareKey() {
    if hasCompositeKey { writeCompositeKey() } else if !isDetail { prepare(column: plan.keyColumn) }
  }

  private mutating func prepare(column: Int) {
    let plan = tree.record.columns[column]
    record.prepare(column, slice: slots[Int(plan.node)], type: plan.type, body: bytes)
  }

  /// Key of the current record.
  package var key: RecordKey {
    mutating get {
      if hasCompositeKey { return .text(compositeKeyBytes) }
      if isDetail { return .integer(Self.detailKey) }
      return
        switch record.value(
          plan.keyColumn, slice: keySlice, type: tree.record.columns[plan.keyColumn].type, body: bytes)
      {
      case .integer(let number): .integer(number)
      case .text(let text): .text(text)
      default: .integer(0)
      }
    }
  }

  /// The value for `plan.resource.columns[index]`.
  package mutating func column(_ index: Int) -> FieldValue {
    let column = tree.record.columns[index]
    return filled(record.value(index, slice: slots[column.node], type: column.type, body: bytes), column: column)
  }

  /// A missing text is '', unless its column is nullable.
  @inline(__always)
  private func filled(_ value: FieldValue, column: RowPlan.Column) -> FieldValue {
    guard case .null = value, !column.isNullable else { return value }
    return .text(UnsafeBufferPointer(rebasing: bytes[0..<0]))
  }

  /// A JSON object of the members that no column or list takes, sorted by name; nil without such members.
  package var extra: UnsafeBufferPointer<UInt8>? { mutating get { record.extraBytes } }

  /// The rejected record, after `next` returned `.rejected`.
  package var reject: RecordReject {
    mutating get {
      RecordReject(
        position: position, key: hasKey ? key : nil, document: UnsafeBufferPointer(rebasing: bytes[document]),
        fault: fault ?? .notAnObject, plan: plan)
    }
  }

  // MARK: The lists of a record

  /// Moves to before the first element of `plan.resource.lists[index]`. A further call starts over.
  package mutating func openList(_ index: Int) {
    openedList = index
    let slice = slots[plan.lists[index].node]
    areRowsNumbered = slice.kind.isObject && isNumbered(list: index, in: slice)
    let isOne = slice.kind.isObject ? isListOfOne(index) && !areRowsNumbered : isSingle(slice, list: index)
    rowProgress = slice.kind.isList || areRowsNumbered ? .beforeFirst : isOne ? .single : .ended
    rowsAt = Int(slice.start) + (isOne ? 0 : 1)
  }

  /// Reads the next element of the opened list; false after the last one.
  package mutating func nextRow() -> Bool {
    let behind = scanner
    defer { scanner = behind }
    scanner.at = rowsAt
    do throws(Malformed) {
      var progress = rowProgress
      defer { rowProgress = progress }
      guard try advance(&progress, until: areRowsNumbered ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { return false }
      if areRowsNumbered { _ = try scanner.name() }
      if !extras.isEmpty { extras.removeAll() }
      needsPreparing = false
      try readElement(tree.rows[openedList])
      rowsAt = scanner.at
    } catch {
      // This cannot fail: `next` has accepted the same bytes.
      return false
    }
    prepareRow()
    return true
  }

  private mutating func prepareRow() {
    let plan = tree.rows[openedList]
    row.begin()
    if needsPreparing || plan.isBare {
      for (index, column) in plan.columns.enumerated() {
        row.prepare(index, slice: slots[column.node], type: column.type, body: bytes)
      }
    }
    guard !plan.isBare, hasExtra(plan.root) else { return }
    var scratch = ByteScratch(capacity: 0)
    swap(&scratch, &row.scratch)
    row.extra = writeExtra(plan.root, into: &scratch)
    swap(&scratch, &row.scratch)
  }

  /// The value for `columns[index]` of the opened list.
  package mutating func rowColumn(_ index: Int) -> FieldValue {
    let column = tree.rows[openedList].columns[index]
    return filled(row.value(index, slice: slots[column.node], type: column.type, body: bytes), column: column)
  }

  /// Like `extra`, for the current element; nil if the element is not an object.
  package var rowExtra: UnsafeBufferPointer<UInt8>? { mutating get { row.extraBytes } }
}

// MARK: Records of one key

extension RecordDecoder {
  /// Notes the record at hand, which can be stored.
  mutating func noteOccurrence(_ document: Range<Int>, position: Int) {
    guard plan.findsConflicts else { return }
    var hasher = Hasher()
    if hasCompositeKey {
      writeCompositeKey()
      hasher.combine(bytes: UnsafeRawBufferPointer(compositeKeyBytes))
    } else if case .integer = keySlice.kind {
      hasher.combine(JSONNumber.integer(bytes, range: keySlice.range))
    } else {
      hasher.combine(bytes: UnsafeRawBufferPointer(text(keySlice)))
    }
    occurrences.note(hasher.finalize(), document: document, position: position, in: bytes)
  }
}
