import FoundationEssentials
package import RosterCore

extension ListAddress {
  /// The address for any parent: a placeholder replaces each value. Throws `Failure` (64) if a value does not occur
  /// exactly once below `baseURL`.
  package func filled(with parents: [GivenParent]) throws(Failure) -> ListAddress {
    if let address = whole(parents) { return address }
    var places: [ValuePlace] = []
    let slots = slots
    for parent in parents {
      let found = Self.places(of: parent, in: slots)
      guard let place = found.first, found.count == 1 else { throw Self.failure(parent.column, count: found.count) }
      if let other = places.first(where: { $0.overlaps(place) }) {
        throw Self.failure(parent.column, and: other.column)
      }
      places.append(place)
    }
    return filled(slots, places: places)
  }

  /// The address of which the value is the whole: `path` becomes a placeholder. Its query is a part of it.
  private func whole(_ parents: [GivenParent]) -> ListAddress? {
    guard let parent = parents.last, parents.count == 1, let given = try? ListAddress(parent.value),
      !isElsewhere(given.url), given.shown == shown
    else { return nil }
    let rest = parameters.filter { !given.parameters.contains($0) }
    guard rest.count + given.parameters.count == parameters.count else { return nil }
    return replacing(path: parent.column.placeholder, parameters: rest)
  }

  /// The texts that can have a value, those of the path first.
  private var slots: [AddressSlot] {
    path.split(separator: "/", omittingEmptySubsequences: false).map { AddressSlot(segment: String($0)) }
      + parameters.map { AddressSlot(text: $0.value, decoded: $0.value, isSegment: false) }
  }

  /// Whole segments and query values, else parts of them, such as `5` of `5.json`.
  private static func places(of parent: GivenParent, in slots: [AddressSlot]) -> [ValuePlace] {
    let whole = slots.indices.filter { slots[$0].decoded == parent.value }
    if !whole.isEmpty {
      return whole.map { slot in
        let text = slots[slot].text
        return ValuePlace(column: parent.column, slot: slot, range: text.startIndex..<text.endIndex)
      }
    }
    return slots.indices.flatMap { slot in
      slots[slot].parts(equalTo: parent.value).map { ValuePlace(column: parent.column, slot: slot, range: $0) }
    }
  }

  private func filled(_ slots: [AddressSlot], places: [ValuePlace]) -> ListAddress {
    var slots = slots
    for place in places.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
      slots[place.slot].text.replaceSubrange(place.range, with: place.column.placeholder)
    }
    let values = slots.filter { !$0.isSegment }
    return replacing(
      path: slots.filter(\.isSegment).map(\.text).joined(separator: "/"),
      parameters: zip(parameters, values).map { Request.Parameter($0.name, $1.text) })
  }

  private static func failure(_ column: ParentColumn, count: Int) -> Failure {
    // The address is not repeated, because it may contain a secret.
    let cause =
      count == 0
      ? "no segment of its path below base_url and no value of its query is the value of \(column.name)"
      : "it has the value of \(column.name) \(count) times"
    let hint =
      count == 0
      ? "give the address of one parent's list, as in rosterd infer https://api.example.com/issues/5/comments --of issue.number=5"
      : "give the address of another parent, whose value occurs only where its placeholder belongs"
    return Failure(.usage, step: "infer a definition", subject: "the address", cause: cause, hint: hint)
  }

  private static func failure(_ column: ParentColumn, and other: ParentColumn) -> Failure {
    Failure(
      .usage, step: "infer a definition", subject: "the address",
      cause: "the values of \(other.name) and \(column.name) are at the same place",
      hint: "give the address of another parent, whose values differ")
  }
}

/// A segment of a path, or the value of a query parameter.
private struct AddressSlot {
  /// The text of the definition: percent-encoded in a path.
  var text: String
  var decoded: String
  var isSegment: Bool

  init(text: String, decoded: String, isSegment: Bool) {
    self.text = text
    self.decoded = decoded
    self.isSegment = isSegment
  }

  init(segment: String) {
    let path = URLComponents(string: "/\(segment)")?.path ?? ""
    self.init(text: segment, decoded: String(path.dropFirst()), isSegment: true)
  }

  /// The occurrences of a value that neither a letter nor a digit precedes or follows.
  func parts(equalTo value: String) -> [Range<String.Index>] {
    // A value with other characters is encoded in a path.
    guard !isSegment || value.utf8.allSatisfy(\.isUnreserved) else { return [] }
    return text.ranges(of: value).filter { range in
      let before = text[..<range.lowerBound].last
      let after = text[range.upperBound...].first
      return before?.isOfWord != true && after?.isOfWord != true
    }
  }
}

/// The place of a parent's value in an address.
private struct ValuePlace {
  var column: ParentColumn
  var slot: Int
  var range: Range<String.Index>

  func overlaps(_ other: ValuePlace) -> Bool { slot == other.slot && range.overlaps(other.range) }
}

extension Character {
  fileprivate var isOfWord: Bool { isLetter || isNumber || self == "-" || self == "_" }
}
