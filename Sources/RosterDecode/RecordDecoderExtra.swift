/// Members that no column or list takes. Values are as upstream wrote them; members are sorted by name, so that a
/// different order of the same members is not a change.
extension RecordDecoder {
  /// Writes the remaining members of the row with this root node; nil if nothing remains.
  mutating func writeExtra(_ root: Int, into scratch: inout ByteScratch) -> Range<Int>? {
    let start = scratch.count
    write(root, into: &scratch)
    return start..<scratch.count
  }

  mutating func hasExtra(_ root: Int) -> Bool {
    if extras.isEmpty, !keepsLists { return false }
    return collectChildren(of: root)
  }

  /// Adds the remaining members of nested objects to their parents; false if nothing remains.
  private mutating func collectChildren(of node: Int) -> Bool {
    let role = tree.steps[node].role
    guard role.contains(.split), !role.contains(.taken) else { return false }
    switch slots[node].kind {
    // Any other list on the way to a column is empty, and counts as absent.
    case .list: return role.contains(.indexed)
    case .object: break
    default: return false
    }
    for child in tree.children(of: node) where child >= 0 {
      if collectChildren(of: Int(child)) { extras.append(child: Int(child), to: node) }
    }
    return !extras.fields[node].isEmpty
  }

  private mutating func write(_ node: Int, into scratch: inout ByteScratch) {
    if slots[node].kind.isList { return append(slots[node].range, hasSpace: slots[node].hasSpace, to: &scratch) }
    order(node)
    scratch.append(UInt8(ascii: "{"))
    for index in extras.fields[node].indices {
      if index > 0 { scratch.append(UInt8(ascii: ",")) }
      write(extras.fields[node][index], into: &scratch)
    }
    scratch.append(UInt8(ascii: "}"))
  }

  private mutating func write(_ field: ExtraField, into scratch: inout ByteScratch) {
    let name = self.name(of: field)
    scratch.append(UInt8(ascii: "\""))
    scratch.append(name)
    scratch.append(UInt8(ascii: "\""))
    scratch.append(UInt8(ascii: ":"))
    if let child = field.child { return write(child, into: &scratch) }
    if let loose = field.loose {
      let value = extras.loose[loose].value
      return append(value.range, hasSpace: value.hasSpace, to: &scratch)
    }
    append(valueRange(of: field, name: name), hasSpace: field.hasSpace, to: &scratch)
  }

  private func append(_ range: Range<Int>, hasSpace: Bool, to scratch: inout ByteScratch) {
    let body = bytes
    if hasSpace {
      scratch.append(range.count) { JSONCompact.write(body, range: range, into: $0) }
    } else {
      scratch.append(UnsafeBufferPointer(rebasing: body[range]))
    }
  }

  /// The bytes between the name's quotes, escapes included.
  private func name(of field: ExtraField) -> UnsafeBufferPointer<UInt8> {
    if field.isInBody { return Self.name(at: field.start, bytes) }
    if let child = field.child { return tree.steps[child].written }
    if let loose = field.loose { return looseNames[extras.loose[loose].name] }
    return Self.name(at: field.start, bytes)
  }

  private static func name(at start: Int, _ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    var end = start + 1
    while bytes[end] != UInt8(ascii: "\"") { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
    return UnsafeBufferPointer(rebasing: bytes[start + 1..<end])
  }

  /// The value follows the name, its closing quote, the colon and optional white space.
  private func valueRange(of field: ExtraField, name: UnsafeBufferPointer<UInt8>) -> Range<Int> {
    var start = field.start + name.count + 2
    while bytes[start] <= 0x20 || bytes[start] == UInt8(ascii: ":") { start += 1 }
    return start..<field.end
  }
}

/// Names are ordered by their bytes as upstream wrote them.
extension RecordDecoder {
  /// Sorts the fields of an object. If a name occurs several times, the last occurrence wins.
  private mutating func order(_ node: Int) {
    guard extras.fields[node].count > 1 else { return }
    let loose = extras.loose
    // Plain memory: a comparison of names counts no reference.
    loose.withUnsafeBufferPointer { order(node, loose: $0) }
  }

  private mutating func order(_ node: Int, loose: UnsafeBufferPointer<LooseField>) {
    let names = FieldNames(bytes: bytes, steps: tree.steps, loose: loose, names: looseNames.bytes)
    if extras.hasEscapes[node] {
      extras.sort(node) { names.order($0, $1, names.compareTexts) }
      extras.removeRepeated(node) { names.compareTexts($0, $1) == 0 }
      extras.sort(node) { names.order($0, $1, names.compareWritten) }
    } else {
      extras.sort(node) { names.order($0, $1, names.compareWritten) }
      extras.removeRepeated(node) { names.compareWritten($0, $1) == 0 }
    }
  }
}

/// Compares the names of fields where they are in the body, without a copy.
private struct FieldNames {
  let bytes: UnsafeBufferPointer<UInt8>
  let steps: UnsafeMutableBufferPointer<CompiledFieldTree.Step>
  let loose: UnsafeBufferPointer<LooseField>
  let names: UnsafeBufferPointer<UInt8>

  /// Orders by name. Fields with the same name are ordered by their position.
  func order(_ one: ExtraField, _ other: ExtraField, _ compare: (ExtraField, ExtraField) -> Int) -> Bool {
    let result = compare(one, other)
    return result == 0 ? one.start < other.start : result < 0
  }

  /// Compares the bytes between the quotes; the result is negative, zero or positive.
  func compareWritten(_ one: ExtraField, _ other: ExtraField) -> Int {
    let (one, other) = (written(one), written(other))
    var at = 0
    while true {
      let (first, second) = (Self.byte(one, at: at), Self.byte(other, at: at))
      if first != second || first < 0 { return first - second }
      if first == Int(UInt8(ascii: "\\")) {
        // A byte after a backslash never ends the name, not even a quote.
        at += 1
        let (first, second) = (Int(one[at]), Int(other[at]))
        if first != second { return first - second }
      }
      at += 1
    }
  }

  /// The bytes from the name's first one to the end of the body.
  private func written(_ field: ExtraField) -> UnsafeBufferPointer<UInt8> {
    if field.isInBody { return UnsafeBufferPointer(rebasing: bytes[(field.start + 1)...]) }
    if let child = field.child { return steps[child].written }
    if let loose = name(of: field) { return loose }
    return UnsafeBufferPointer(rebasing: bytes[(field.start + 1)...])
  }

  private func name(of field: ExtraField) -> UnsafeBufferPointer<UInt8>? {
    field.loose.map { UnsafeBufferPointer(rebasing: names[loose[$0].name]) }
  }

  /// The byte of the name at an index; -1 at its end.
  private static func byte(_ name: UnsafeBufferPointer<UInt8>, at: Int) -> Int {
    at < name.count && name[at] != UInt8(ascii: "\"") ? Int(name[at]) : -1
  }

  func compareTexts(_ one: ExtraField, _ other: ExtraField) -> Int {
    var (one, other) = (text(one), text(other))
    while true {
      let (first, second) = (one.next().map(Int.init) ?? -1, other.next().map(Int.init) ?? -1)
      if first != second || first < 0 { return first - second }
    }
  }

  private func text(_ field: ExtraField) -> UnescapedBytes {
    if let child = field.child { return UnescapedBytes(steps[child].name, content: 0..<steps[child].name.count) }
    if let loose = name(of: field) { return UnescapedBytes(loose, content: 0..<loose.count) }
    var end = field.start + 1
    while bytes[end] != UInt8(ascii: "\"") { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
    return UnescapedBytes(bytes, content: field.start + 1..<end)
  }
}
