internal import RosterJSON
internal import RosterModel

/// JSON that is parsed only where a value is inserted or removed. All other parts keep their digits and escapes, so
/// that an unchanged value from upstream is not a change.
enum WrittenJSON: Sendable {
  struct Member: Sendable {
    var name: String
    /// The name in its original notation, with quotes.
    var written: [UInt8]
    var value: WrittenJSON

    init(_ name: String, _ value: WrittenJSON) {
      self.name = name
      written = []
      JSONWriter.append(name, to: &written)
      self.value = value
    }

    fileprivate init(_ name: String, written: [UInt8], _ value: WrittenJSON) {
      self.name = name
      self.written = written
      self.value = value
    }
  }

  /// Any value in its original notation.
  case whole([UInt8])
  case object([Member])
  case list([WrittenJSON])

  static let null = WrittenJSON.whole(Array("null".utf8))

  /// The first byte of the value, which shows its type.
  var first: UInt8 {
    switch self {
    case .whole(let bytes): bytes.first ?? UInt8(ascii: "n")
    case .object: UInt8(ascii: "{")
    case .list: UInt8(ascii: "[")
    }
  }

  var isNull: Bool { first == UInt8(ascii: "n") }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .whole(let written): bytes.append(contentsOf: written)
    case .object(let members):
      for (index, member) in members.enumerated() {
        bytes.append(UInt8(ascii: index == 0 ? "{" : ","))
        bytes.append(contentsOf: member.written)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(contentsOf: (members.isEmpty ? "{}" : "}").utf8)
    case .list(let elements):
      for (index, element) in elements.enumerated() {
        bytes.append(UInt8(ascii: index == 0 ? "[" : ","))
        element.write(to: &bytes)
      }
      bytes.append(contentsOf: (elements.isEmpty ? "[]" : "]").utf8)
    }
  }

  // MARK: One level down

  /// An object with its members, or a list with its elements. Any other value, and invalid JSON, is unchanged.
  var opened: WrittenJSON {
    guard case .whole(let bytes) = self else { return self }
    return bytes.withUnsafeBufferPointer { bytes in
      var scanner = JSONScanner(bytes)
      let opened =
        switch scanner.peek() {
        case UInt8(ascii: "{"): try? Self.members(&scanner)
        case UInt8(ascii: "["): try? Self.elements(&scanner)
        default: WrittenJSON?.none
        }
      return opened ?? self
    }
  }

  private static func members(_ scanner: inout JSONScanner) throws(Malformed) -> WrittenJSON {
    var members: [Member] = []
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "}")) { return .object([]) }
    repeat {
      let name = try scanner.name()
      let value = try scanner.value()
      members.append(
        Member(
          JSONEscapes.text(scanner.bytes, name), written: Array(scanner.bytes[name.range]),
          .whole(Array(scanner.bytes[value.range]))))
    } while try scanner.goesOn(until: UInt8(ascii: "}"))
    return .object(members)
  }

  private static func elements(_ scanner: inout JSONScanner) throws(Malformed) -> WrittenJSON {
    var elements: [WrittenJSON] = []
    scanner.enter()
    if scanner.isEmpty(until: UInt8(ascii: "]")) { return .list([]) }
    repeat {
      let value = try scanner.value()
      elements.append(.whole(Array(scanner.bytes[value.range])))
    } while try scanner.goesOn(until: UInt8(ascii: "]"))
    return .list(elements)
  }

  // MARK: Paths

  /// Inserts a value at a path of object names and creates missing objects. Nothing changes if another value is on the
  /// path, such as a list.
  mutating func put(_ value: WrittenJSON, at segments: ArraySlice<String>) {
    guard let name = segments.first else {
      self = value
      return
    }
    guard case .object(var members) = opened else { return }
    let known = members.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
    var member = known.map { members[$0] } ?? Member(name, .object([]))
    member.value.put(value, at: segments.dropFirst())
    if let known { members[known] = member } else { members.append(member) }
    self = .object(members)
  }

  /// The value without what is at a path, or on the way to it, and cannot be there (P9).
  /// - Parameter fitting: returns the part of the value at the path that is kept; nil removes it.
  func cut(_ segments: ArraySlice<String>, to fitting: (WrittenJSON) -> WrittenJSON?) -> WrittenJSON? {
    if isNull { return self }
    guard let name = segments.first else { return fitting(self) }
    switch opened {
    case .object(var members):
      guard let index = members.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return self }
      if let value = members[index].value.cut(segments.dropFirst(), to: fitting) {
        members[index].value = value
      } else {
        members.remove(at: index)
      }
      return .object(members)
    case .list(var elements):
      guard let index = JSONPointer.index(name) else { return nil }
      guard elements.indices.contains(index) else { return self }
      elements[index] = elements[index].cut(segments.dropFirst(), to: fitting) ?? .null
      return .list(elements)
    case .whole: return nil
    }
  }
}
