import RosterCore

/// A list without gaps is a list in the JSON of PHP. Any other, such as the rest of a filtered one, becomes an object.
extension RecordDecoder {
  /// Notes whether the object at hand is such a list of records.
  mutating func noteNumbered() -> Bool {
    isNumbered = isNumberedList()
    return isNumbered
  }

  /// True if the object at hand has a whole number as each name and a record as each value.
  mutating func isNumberedList() -> Bool {
    switch shape {
    case .objects: hasNumbers(before: \.isObject)
    case .rows: hasNumbers(before: \.isList)
    case .map, .values: false
    }
  }

  /// True if the object at hand is a list of a record, written as such an object. Bare values may have names that
  /// matter, such as years.
  mutating func isNumbered(list: Int) -> Bool { !tree.rows[list].isBare && hasNumbers(before: \.isObject) }

  /// The same for an object that was read.
  mutating func isNumbered(list: Int, in slice: JSONSlice) -> Bool {
    let behind = scanner
    defer { scanner = behind }
    scanner.at = Int(slice.start)
    return isNumbered(list: list)
  }

  /// True if the object at hand has a member, a whole number as each name, and only such values.
  private mutating func hasNumbers(before isElement: (JSONKind) -> Bool) -> Bool {
    guard scanner.peek() == UInt8(ascii: "{") else { return false }
    let behind = scanner
    defer { scanner = behind }
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return false }
    do throws(Malformed) {
      repeat {
        let name = try scanner.name()
        guard !name.content.isEmpty, bytes[name.content].allSatisfy(\.isDigit), isElement(try scanner.value().kind)
        else { return false }
      } while try scanner.goesOn(until: UInt8(ascii: "}"))
      return true
    } catch { return false }
  }
}

/// Records that are not objects: each is read as an object, without a copy of the body.
extension RecordDecoder {
  /// Reads the value at hand, which should be a record, into the nodes of a record. Returns what is wrong with it as a
  /// whole.
  mutating func readShaped() throws(Malformed) -> RecordFault? {
    if shape.isRows { return try readRow() }
    if scanner.peek() == UInt8(ascii: "{") { try readField(tree.record.root) } else { try readBare() }
    guard let node = plan.shape.memberName else { return nil }
    let hasOwnName = !slots[node].kind.isAbsent
    slots[node] = memberName
    if memberName.kind.isEscaped { needsPreparing = true }
    keep(memberName, name: Self.memberNameBytes, of: node)
    return hasOwnName ? .ownMemberName : nil
  }

  /// A value that is not an object, as `{"value": VALUE}`.
  private mutating func readBare() throws(Malformed) {
    guard let node = plan.shape.value else { return }
    let (start, spaces) = (scanner.at, scanner.spaces)
    try readField(node)
    slots[tree.record.root] = JSONSlice(start, end: scanner.at, kind: .object, hasSpace: scanner.spaces != spaces)
    keep(slots[node], name: Self.valueBytes, of: node)
  }

  private mutating func readRow() throws(Malformed) -> RecordFault? {
    let root = tree.record.root
    guard scanner.peek() == UInt8(ascii: "[") else {
      _ = try scanner.value()
      return .notARow
    }
    let (start, spaces) = (scanner.at, scanner.spaces)
    var index = 0
    scanner.enter()
    if !scanner.isEmpty(until: UInt8(ascii: "]")) {
      repeat {
        try readCell(index)
        index += 1
      } while try scanner.goesOn(until: UInt8(ascii: "]"))
    }
    slots[root] = JSONSlice(start, end: scanner.at, kind: .object, hasSpace: scanner.spaces != spaces)
    return plan.shape.rowNames != nil && index > looseNames.count ? .longRow : nil
  }

  private mutating func readCell(_ index: Int) throws(Malformed) {
    let isNamed = plan.shape.rowNames != nil
    if !isNamed, looseNames.count <= index {
      looseNames.append(Array("\(index)".utf8), node: tree.child(at: index, of: tree.record.root))
    }
    guard index < looseNames.count else {
      _ = try scanner.value()
      return
    }
    let node = looseNames.nodes[index]
    guard node < 0 else {
      try readField(node)
      return keep(slots[node], name: looseNames.places[index], of: node)
    }
    let value = try scanner.value()
    if collectsExtra { extras.append(loose: value, named: looseNames.places[index], to: tree.record.root) }
  }

  /// Keeps a field for `extra` if no column or list takes it.
  private mutating func keep(_ value: JSONSlice, name: Range<Int>, of node: Int) {
    guard collectsExtra, tree.steps[node].role.isDisjoint(with: [.taken, .split]) else { return }
    extras.append(loose: value, named: name, to: tree.record.root)
  }

  // MARK: Names

  static let memberNamePlace = JSONPointer(segments: [Resource.Shape.memberName])
  /// Their places among the loose names.
  private static let memberNameBytes = 0..<Resource.Shape.memberName.utf8.count
  private static let valueBytes =
    memberNameBytes.upperBound..<memberNameBytes.upperBound + Resource.Shape.value.utf8.count

  /// Reads the names of the values of a row from the answer that begins at hand.
  mutating func readRowNames() throws(Malformed) {
    guard let place = plan.shape.rowNames else { return }
    let behind = scanner
    defer { scanner = behind }
    let start = scanner.at
    looseNames.removeAll()
    guard let names = try find(place, from: start) else { throw unnamed(at: start) }
    scanner.at = names
    guard scanner.peek() == UInt8(ascii: "[") else { throw unnamed(at: names) }
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "]")) { return }
    var seen: Set<[UInt8]> = []
    repeat {
      var name = try scanner.value()
      if name.kind.isObject { name = try look(for: JSONPointer(segments: ["name"]), from: Int(name.start)) }
      guard name.kind == .string || name.kind == .escapedString else { throw unnamed(at: names) }
      let text = self.text(name)
      guard seen.insert(Array(text)).inserted else { throw unnamed(at: names) }
      looseNames.append(bytes[name.content], node: tree.child(text, of: tree.record.root))
    } while try scanner.goesOn(until: UInt8(ascii: "]"))
  }

  private func unnamed(at offset: Int) -> Malformed {
    Malformed(offset: offset, expected: "a list of different names at \"\(plan.resource.rowNames)\"")
  }

  /// A place in a record, as a place in the value that it is in the body; nil if the value has no such place.
  mutating func inRecord(_ pointer: JSONPointer, from start: Int) -> JSONPointer? {
    guard let first = pointer.segments.first else { return pointer }
    let rest = Array(pointer.segments.dropFirst())
    switch shape {
    case .objects: return pointer
    case .values, .map:
      if bytes[start] == UInt8(ascii: "{") { return pointer }
      return first == Resource.Shape.value ? JSONPointer(segments: rest) : nil
    case .rows:
      guard plan.shape.rowNames != nil else { return pointer }
      return looseNames.index(of: first).map { JSONPointer(segments: ["\($0)"] + rest) }
    }
  }

  // MARK: The answer for one key

  /// Makes a body of one record from an answer of `by_key` that lacks the key. For the shape `map` it is
  /// an object with the answer under the key's name; for `values` it is a list that contains the key.
  /// - Returns: nil if the key was not found: the answer is null, or an empty list where a list is an answer.
  package mutating func body(of key: String, answer: [UInt8]) throws(Malformed) -> [UInt8]? {
    let value = try answer.withUnsafeBufferPointer { bytes throws(Malformed) -> Range<Int> in
      defer { forget() }
      try startScan(bytes)
      scanner.at = try answerStart()
      return try scanner.value().range
    }
    let found = answer[value]
    let isListAnswer = isMap || plan.resource.answersWithList
    if found.elementsEqual("null".utf8) || (isListAnswer && isEmptyList(found)) { return nil }
    var json = JSONWriter()
    if isMap {
      json.object { json in
        json.name(part(of: key, at: Self.memberNamePlace))
        json.raw(found)
      }
    } else {
      json.list { json in if plan.hasTextKeys { json.value(key) } else { json.raw(key.utf8) } }
    }
    return json.bytes
  }

  /// The text of one part of a key that is a JSON list; the key itself if it is one value.
  private func part(of key: String, at place: JSONPointer) -> String {
    guard hasCompositeKey, case .list(let parts)? = try? JSONValue(json: key.utf8),
      let index = plan.resource.keyPlaces.firstIndex(of: place), parts.indices.contains(index)
    else { return key }
    return parts[index].text ?? key
  }

  /// True if an answer for one key is the value, without its key.
  package var answersWithoutKey: Bool {
    switch shape {
    case .map: true
    case .values: plan.resource.key == JSONPointer(segments: [Resource.Shape.value])
    case .objects, .rows: false
    }
  }

  private func isEmptyList(_ value: ArraySlice<UInt8>) -> Bool {
    value.first == UInt8(ascii: "[") && value.dropFirst().dropLast().allSatisfy { $0 <= 0x20 }
  }
}
