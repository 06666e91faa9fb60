/// Reads an answer, a record or an element. Values on the path to a place are entered; all others are skipped.
extension RecordDecoder {
  /// Reads the current value into the slot of its node.
  mutating func readField(_ node: Int) throws(Malformed) {
    if !slots[node].kind.isAbsent { forget(node) }
    let byte = scanner.peek()
    let role = tree.steps[node].role
    guard !role.isDisjoint(with: .entered), byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else {
      let start = scanner.at
      let value = try scanner.value()
      if value.hasSpace || value.kind.isEscaped { needsPreparing = true }
      slots[node] = value
      if role.contains(.list), isSingle(value, list: tree.steps[node].list) {
        scanner.at = start
        try checkElement(tree.steps[node].list)
      }
      return
    }
    let (start, spaces) = (scanner.at, scanner.spaces)
    if byte == UInt8(ascii: "[") {
      try readList(node, role: role)
    } else if role.contains(.list), isNumbered(list: tree.steps[node].list) {
      try readNumbered(node, role: role)
    } else if role.contains(.list), isListOfOne(tree.steps[node].list) {
      try checkElement(tree.steps[node].list)
    } else if role.contains(.records), isMap || noteNumbered() {
      try readRecords()
    } else if !role.isDisjoint(with: .surroundings) {
      try readSurroundings(node)
    } else if role.contains(.hasChildren) {
      try readObject(node)
    } else {
      _ = try scanner.value()
    }
    let hasSpace = scanner.spaces != spaces
    if hasSpace { needsPreparing = true }
    slots[node] = JSONSlice(
      start, end: scanner.at, kind: byte == UInt8(ascii: "[") ? .list : .object, hasSpace: hasSpace)
  }

  /// Clears the slots of an earlier member with the same name, and of all nodes below it.
  private mutating func forget(_ node: Int) {
    if !statements.isEmpty {
      let range = slots[node].range
      statements.removeAll { range.contains(Int($0.value.start)) }
    }
    if tree.steps[node].role.contains(.records), found.records > 0 { replacedList = slots[node] }
    slots[node] = .absent
    extras.remove(node)
    for child in tree.children(of: node) where child >= 0 { forget(Int(child)) }
  }

  private mutating func readObject(_ node: Int) throws(Malformed) {
    let role = tree.steps[node].role
    let collects = collectsExtra && role.contains(.split) && !role.contains(.taken)
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return }
    var last = -1
    repeat {
      let (child, name) = try member(of: node, after: last)
      last = child < 0 ? last : child
      if child < 0 {
        let value = try scanner.value()
        if collects { extras.append(name, value, to: node) }
      } else {
        try readField(child)
        if collects, tree.steps[child].role.isDisjoint(with: [.taken, .split]) {
          extras.append(name, slots[child], to: node)
        }
      }
    } while try scanner.goesOn(until: UInt8(ascii: "}"))
  }

  /// Reads the name of the next member. The child that followed `last` in an earlier object is tried first.
  @inline(__always)
  private mutating func member(of node: Int, after last: Int) throws(Malformed) -> (child: Int, name: JSONSlice) {
    let expected = Int(last < 0 ? tree.steps[node].firstChild : tree.steps[last].successor)
    if expected >= 0, let end = tree.nameEnd(bytes, from: scanner.at, of: expected) {
      let name = JSONSlice(scanner.at, end: end, kind: .string)
      scanner.at = end + 1
      return (expected, name)
    }
    let name = try scanner.name()
    let child = find(name, in: node)
    if child >= 0, !name.kind.isEscaped {
      if last < 0 { tree.steps[node].firstChild = Int32(child) } else { tree.steps[last].successor = Int32(child) }
    }
    return (child, name)
  }

  @inline(__always)
  mutating func find(_ name: JSONSlice, in node: Int) -> Int {
    name.kind.isEscaped ? tree.child(unescaped(name), of: node) : tree.child(bytes, content: name.content, of: node)
  }

  /// The text of a string: a slice of the body, or of `name` until the next call.
  @inline(__always)
  mutating func text(_ string: JSONSlice) -> UnsafeBufferPointer<UInt8> {
    string.kind.isEscaped ? unescaped(string) : UnsafeBufferPointer(rebasing: bytes[string.content])
  }

  private mutating func unescaped(_ string: JSONSlice) -> UnsafeBufferPointer<UInt8> {
    let body = bytes
    name.removeAll()
    name.append(string.content.count) { JSONEscapes.unescape(body, content: string.content, into: $0) }
    return name[0..<name.count]
  }

  /// Reads the records of a page. A later walk through the same answer passes them.
  private mutating func readRecords() throws(Malformed) {
    switch passed {
    case nil: try isMap && scanner.peek() == UInt8(ascii: "[") ? scanEmptyList() : scanRecords()
    case let records? where records.lowerBound == scanner.at && !records.isEmpty: scanner.at = records.upperBound
    case .some: _ = try scanner.value()
    }
  }

  /// Places that select an element by its index are rare. A list that is also a list of the definition is read a second
  /// time for them.
  private mutating func readList(_ node: Int, role: FieldTree.Role) throws(Malformed) {
    let (start, spaces) = (scanner.at, scanner.spaces)
    if role.contains(.records) { return try readRecords() }
    if role.contains(.list) { try checkElements(tree.steps[node].list) }
    if role.contains(.indexed) {
      scanner.at = start
      scanner.spaces = spaces
      try readIndexed(node)
    } else if !role.contains(.list) {
      _ = try scanner.value()
    }
  }

  /// An object with numbers as names, which is a list of the record. It is read a second time for places inside it.
  private mutating func readNumbered(_ node: Int, role: FieldTree.Role) throws(Malformed) {
    let (start, spaces) = (scanner.at, scanner.spaces)
    try checkElements(tree.steps[node].list)
    guard role.contains(.hasChildren) else { return }
    (scanner.at, scanner.spaces) = (start, spaces)
    try readObject(node)
  }

  private mutating func readIndexed(_ node: Int) throws(Malformed) {
    // The list stays whole in `extra`, so its elements contribute no remaining members.
    let collects = collectsExtra
    collectsExtra = false
    defer { collectsExtra = collects }
    var index = 0
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "]")) { return }
    repeat {
      let child = tree.child(at: index, of: node)
      if child < 0 { _ = try scanner.value() } else { try readField(child) }
      index += 1
    } while try scanner.goesOn(until: UInt8(ascii: "]"))
  }
}
