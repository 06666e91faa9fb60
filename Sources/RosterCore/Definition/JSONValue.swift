/// Any JSON as a tree, for small documents: configuration, tokens, status. Records of upstream never become trees.
package enum JSONValue: Sendable {
  case null
  case boolean(Bool)
  /// A number in its original spelling, so that no digit is lost (RFC 8259 §6).
  case number(String)
  case text(String)
  case list([JSONValue])
  /// The members in their original order, each name once.
  case object([Member])

  /// A name of an object with its value.
  package struct Member: Sendable {
    /// The unescaped name.
    package var name: String
    /// The value, of any kind.
    package var value: JSONValue

    /// Makes a member.
    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }
}

/// Compared byte by byte: texts and names that only Unicode normalization makes equal are different.
extension JSONValue: Equatable {
  /// True if both have the same values in the same order, and write their numbers in the same way.
  package static func == (one: JSONValue, other: JSONValue) -> Bool {
    switch (one, other) {
    case (.null, .null): true
    case (.boolean(let one), .boolean(let other)): one == other
    case (.number(let one), .number(let other)), (.text(let one), .text(let other)):
      one.utf8.elementsEqual(other.utf8)
    case (.list(let one), .list(let other)): one == other
    case (.object(let one), .object(let other)): one == other
    default: false
    }
  }
}

extension JSONValue.Member: Equatable {
  /// True if both have the same name, byte by byte, and the same value.
  package static func == (one: JSONValue.Member, other: JSONValue.Member) -> Bool {
    one.name.utf8.elementsEqual(other.name.utf8) && one.value == other.value
  }
}

extension JSONValue {
  /// Makes a number without fraction and exponent.
  package static func integer(_ number: some BinaryInteger) -> JSONValue { .number(String(number)) }

  /// The value of a member; nil if there is no such member, or this is not an object. Names are compared byte by byte.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// The value at a place; nil if the place does not exist.
  package subscript(at: JSONPointer) -> JSONValue? {
    at.segments.reduce(self) { value, segment in
      guard case .list(let elements) = value else { return value?[segment] }
      return JSONPointer.index(segment).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
    }
  }

  /// A scalar as a query or a form carries it; empty for other values.
  package var queryText: String {
    switch self {
    case .text(let text), .number(let text): text
    case .boolean(let flag): "\(flag)"
    case .null, .list, .object: ""
    }
  }

  /// Every text in the value, without the names of members.
  package var texts: [String] { placedTexts.map(\.text) }

  /// Every text in the value, below the names of the members that lead to it.
  var placedTexts: [(place: [String], text: String)] {
    switch self {
    case .text(let text): [([], text)]
    case .list(let values): values.flatMap(\.placedTexts)
    case .object(let members):
      members.flatMap { member in
        member.value.placedTexts.map { ([member.name] + $0.place, $0.text) }
      }
    case .null, .boolean, .number: []
    }
  }

  /// The first member of an object that is an object or a list.
  package var nestedMember: Member? {
    guard case .object(let members) = self else { return nil }
    return members.first { member in
      switch member.value {
      case .object, .list: true
      case .null, .boolean, .number, .text: false
      }
    }
  }

  /// The same value with each of its texts replaced.
  package func replacingTexts(_ replacement: (String) -> JSONValue) -> JSONValue {
    switch self {
    case .text(let text): replacement(text)
    case .list(let values): .list(values.map { $0.replacingTexts(replacement) })
    case .object(let members): .object(members.map { Member($0.name, $0.value.replacingTexts(replacement)) })
    case .null, .boolean, .number: self
    }
  }

  /// nil if this is not a text.
  package var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  /// nil if this is not a number.
  package var number: Double? {
    if case .number(let digits) = self { Double(digits) } else { nil }
  }

  /// nil if this is not a number, or has a fraction or an exponent, or does not fit into 64 bits.
  package var integer: Int64? {
    if case .number(let digits) = self { Int64(digits) } else { nil }
  }
}

// MARK: A value at a place

extension JSONValue {
  /// True if `setting` can reach the place: the way leads through objects and existing elements of lists only.
  package func canSet(_ place: JSONPointer) -> Bool { canSet(place.segments[...]) }

  private func canSet(_ way: ArraySlice<String>) -> Bool {
    guard let name = way.first else { return true }
    switch self {
    case .object: return self[name].map { $0.canSet(way.dropFirst()) } ?? true
    case .list(let elements):
      guard let index = JSONPointer.index(name), elements.indices.contains(index) else { return false }
      return elements[index].canSet(way.dropFirst())
    case .null, .boolean, .number, .text: return false
    }
  }

  /// Sets the value at a place, and creates the missing objects on the way. An element of a list must exist.
  package func setting(_ value: JSONValue, at place: JSONPointer) -> JSONValue {
    setting(value, at: place.segments[...])
  }

  private func setting(_ value: JSONValue, at way: ArraySlice<String>) -> JSONValue {
    guard let name = way.first else { return value }
    if case .list(var elements) = self {
      guard let index = JSONPointer.index(name), elements.indices.contains(index) else { return self }
      elements[index] = elements[index].setting(value, at: way.dropFirst())
      return .list(elements)
    }
    var members: [Member] = []
    if case .object(let own) = self { members = own }
    let inner = (self[name] ?? .object([])).setting(value, at: way.dropFirst())
    if let index = members.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
      members[index].value = inner
    } else {
      members.append(Member(name, inner))
    }
    return .object(members)
  }
}

/// The value of one column: of a field in an answer, or of a row of the cache.
///
/// Its bytes are not copied. Those of a field are a slice of the body, or of the decoder's memory if the body has
/// escapes or white space in them. They are valid until the decoder's next call of `next`, of `nextRow` (for values of
/// a list's row) or of `begin`. Those of a row are valid until its statement goes on.
package enum FieldValue {
  case null
  /// UTF-8 as upstream sent it, which may contain U+0000 and surrogates.
  case text(UnsafeBufferPointer<UInt8>)
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  /// A value of any kind as upstream wrote it, without white space between its tokens.
  case json(UnsafeBufferPointer<UInt8>)

  /// True for null and for a text without a character.
  package var isEmpty: Bool {
    switch self {
    case .null: true
    case .text(let bytes): bytes.isEmpty
    case .integer, .real, .boolean, .json: false
    }
  }
}
