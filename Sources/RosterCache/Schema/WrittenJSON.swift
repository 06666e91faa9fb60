internal import RosterJSON
internal import RosterModel

/// JSON that is taken apart only where something is put into it or taken out: all else stays as it was written, digits
/// and escapes included, so that the same value from upstream is no change.
enum WrittenJSON: Sendable {
  struct Member: Sendable {
    var name: String
    /// With its quotes.
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

  /// Any value, as it was written.
  case whole([UInt8])
  case object([Member])
  case list([WrittenJSON])

  static let null = WrittenJSON.whole(Array("null".utf8))

  /// What a string, a number, a literal or a whole compound is, by its first byte.
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

  /// An object with its members, or a list with its elements; any other value, and what is no JSON, as it is.
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

  // MARK: Places

  /// Puts a value at a place in objects, which are made where there are none; where anything else is on the way, as an
  /// element of a list that stays whole, nothing is done.
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

  /// Without what is at a place, or on the way to it, and cannot be there (P9).
  /// - Parameter fitting: of what is there: as it may stay; nil: not at all.
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
