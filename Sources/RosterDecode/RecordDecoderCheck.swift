import RosterCore

/// Decides whether a record can be stored.
extension RecordDecoder {
  enum Outcome {
    case skipped
    case storable
    case rejected(RecordFault)
  }

  /// Reads the current value, which should be a record.
  mutating func readRecord() throws(Malformed) -> Outcome {
    tree.record.nodes.update(repeating: .absent)
    if !extras.isEmpty { extras.removeAll() }
    needsPreparing = false
    let level = scanner.level
    scanner.deepest = level
    if isShaped {
      if let fault = try readShaped() { return .rejected(fault) }
    } else {
      try readField(tree.record.root)
    }
    let root = slots[tree.record.root]
    // A null element has no values, so that a condition can skip it.
    guard root.kind.isObject || root.kind == .null else { return .rejected(.notAnObject) }
    if !meetsConditions() { return .skipped }
    // An event without a key is about no record.
    if plan.readsEvents, [.absent, .null].contains(keySlice.kind) { return .skipped }
    guard root.kind.isObject else { return .rejected(.notAnObject) }
    readForms(tree.record)
    if let fault = keyFault ?? rowFault() { return .rejected(fault) }
    if let fault = listFault() { return .rejected(fault) }
    if isDetail, isBlank { return .rejected(.blankDetail) }
    return scanner.deepest - level > RecordPlan.deepest ? .rejected(.tooDeep) : .storable
  }

  /// True if a record lacks all members that the definition names, of which there are several.
  private var isBlank: Bool {
    let nodes = Set(tree.record.columns.map { Int($0.node) } + plan.lists.map(\.node))
    return nodes.count > 1 && nodes.allSatisfy { slots[$0].kind == .absent }
  }

  var keySlice: JSONSlice { slots[keyNode] }
  var hasKey: Bool { slots[tree.record.root].kind.isObject && keyFault == nil }

  private var keyFault: RecordFault? {
    if hasCompositeKey { return partFault }
    if isDetail { return nil }
    let key = keySlice
    switch key.kind {
    case .absent: return .keyMissing
    case .integer where !plan.hasTextKeys:
      return JSONNumber.integer(bytes, range: key.range) != nil ? nil : .keyInvalid
    case .string where plan.hasTextKeys, .escapedString where plan.hasTextKeys:
      return key.content.isEmpty ? .keyInvalid : JSONEscapes.isEncodable(bytes, key) ? nil : .keyHalfPair
    case .fraction where !plan.hasTextKeys: return .keyInvalid
    default: return .keyMistyped(key.kind)
    }
  }

  private func rowFault() -> RecordFault? {
    switch fault(tree.record) {
    case .column(let node, let type): .column(node: node, type)
    case .way(let node): .way(node: node)
    case nil: nil
    }
  }

  private mutating func listFault() -> RecordFault? {
    for index in listFaults.indices {
      let node = plan.lists[index].node
      switch slots[node].kind {
      case .absent, .null: continue
      case .list: if let fault = listFaults[index] { return .element(list: index, fault) }
      case .object where isNumbered(list: index, in: slots[node]) || isListOfOne(index):
        if let fault = listFaults[index] { return .element(list: index, fault) }
      case .object: if !isEmptyPlaceholder(slots[node]) { return .objectForList(node: node) }
      case .true, .false, .integer, .fraction, .string, .escapedString:
        if isSingle(slots[node], list: index) {
          if let fault = listFaults[index] { return .element(list: index, fault) }
        } else if !isEmptyPlaceholder(slots[node]) {
          return .notAList(node: node)
        }
      }
    }
    return nil
  }

  /// Returns the first column that has a wrong type, or the first ancestor of a column that is not an object.
  @inline(__always)
  private func fault(_ row: CompiledFieldTree.Row) -> RecordFault.ElementFault? {
    for way in row.ways where !isPassable(Int(way)) { return .way(node: Int(way)) }
    for column in row.columns where !column.type.accepts(slots[column.node], in: bytes) {
      return .column(node: column.node, column.type)
    }
    return nil
  }

  private func isPassable(_ way: Int) -> Bool {
    switch slots[way].kind {
    case .absent, .null, .object: true
    case .list where tree.steps[way].role.contains(.indexed): true
    default: isEmptyPlaceholder(slots[way])
    }
  }

  // MARK: Lists

  /// Reads the elements of the current list and notes the first one that cannot be stored. In an object each element
  /// has a number as its name.
  mutating func checkElements(_ list: Int) throws(Malformed) {
    let collects = collectsExtra
    collectsExtra = false
    defer { collectsExtra = collects }
    listFaults[list] = nil
    let row = tree.rows[list]
    var first: RecordFault.ElementFault?
    let isNumbered = scanner.peek() == UInt8(ascii: "{")
    let end = isNumbered ? UInt8(ascii: "}") : UInt8(ascii: "]")
    scanner.enter()
    if scanner.isEmpty(until: end) { return }
    repeat {
      if isNumbered { _ = try scanner.name() }
      try readElement(row)
      if first == nil { first = fault(row) }
    } while try scanner.goesOn(until: end)
    listFaults[list] = first
  }

  @inline(__always)
  mutating func readElement(_ row: CompiledFieldTree.Row) throws(Malformed) {
    if row.isBare {
      slots[row.root] = try scanner.value()
    } else {
      row.nodes.update(repeating: .absent)
      try readField(row.root)
    }
    readForms(row)
  }

  /// A list that may be one element without brackets.
  func isListOfOne(_ list: Int) -> Bool { plan.resource.lists[list].isListOfOne }

  /// True if a text, a number or a boolean is the only element of a list of such values.
  func isSingle(_ value: JSONSlice, list: Int) -> Bool {
    switch value.kind {
    case .true, .false, .integer, .fraction, .string, .escapedString:
      isListOfOne(list) && tree.rows[list].isBare && !isEmptyPlaceholder(value)
    case .absent, .null, .list, .object: false
    }
  }

  /// Reads the element that is in place of a list.
  mutating func checkElement(_ list: Int) throws(Malformed) {
    let collects = collectsExtra
    collectsExtra = false
    defer { collectsExtra = collects }
    listFaults[list] = nil
    let row = tree.rows[list]
    try readElement(row)
    listFaults[list] = fault(row)
  }

  // MARK: where

  private mutating func meetsConditions() -> Bool {
    for condition in plan.conditions where !meets(condition) { return false }
    return true
  }

  private mutating func meets(_ condition: ConditionPlan) -> Bool {
    let slice = slots[condition.node]
    let isAbsent = slice.kind == .absent || slice.kind == .null
    switch condition.test {
    case .absent: return isAbsent
    case .present: return !isAbsent
    case .equal(let scalar): return equals(slice, scalar: scalar)
    case .differs(let scalars): return isAbsent || !scalars.contains { equals(slice, scalar: $0) }
    }
  }

  mutating func equals(_ slice: JSONSlice, scalar: Resource.Scalar) -> Bool {
    switch (scalar, slice.kind) {
    case (.text(let text), .string), (.text(let text), .escapedString): self.text(slice).elementsEqual(text.utf8)
    case (.boolean(let flag), .true): flag
    case (.boolean(let flag), .false): !flag
    case (.integer(let number), .integer): JSONNumber.integer(bytes, range: slice.range) == number
    case (.integer(let number), .fraction):
      JSONNumber.double(bytes, range: slice.range).flatMap { Int64(exactly: $0) } == number
    case (.real(let number), .integer), (.real(let number), .fraction):
      JSONNumber.double(bytes, range: slice.range) == number
    default: false
    }
  }
}
