import RosterModel

/// Which column tells records apart.
struct KeyChoice {
  let column: Int
  let notes: [Note]

  /// nil: no column could.
  init?(_ columns: [Resource.Column], of records: [JSONValue], resource: String) {
    let candidates = columns.indices.compactMap { Candidate($0, columns[$0], records, resource) }
    guard let best = candidates.min(by: { $1.isWorse(than: $0) }) else { return nil }
    column = best.column
    notes = [best.note(columns[best.column].at, of: records.count)]
  }
}

private struct Candidate {
  let column: Int
  /// Records that a key there would let in.
  private let storable: Int
  private let isUnique: Bool
  /// How much its name is that of a key: 0 is best.
  private let rank: Int

  /// nil: no key is of that type, or no record has one there.
  init?(_ column: Int, _ definition: Resource.Column, _ records: [JSONValue], _ resource: String) {
    guard definition.type == .integer || definition.type == .text else { return nil }
    let keys = records.compactMap { $0[definition.at]?.key }
    guard !keys.isEmpty else { return nil }
    self.column = column
    storable = keys.count
    isUnique = Set(keys).count == keys.count
    rank = Self.rank(definition, resource, isSlug: Shape(of: records.compactMap { $0[definition.at] }).isSlug)
  }

  func isWorse(than other: Candidate) -> Bool {
    if isUnique != other.isUnique { return !isUnique }
    if storable != other.storable { return storable < other.storable }
    return rank == other.rank ? column > other.column : rank > other.rank
  }

  private static func rank(_ column: Resource.Column, _ resource: String, isSlug: Bool) -> Int {
    let word = (column.at.segments.last ?? "").word
    let isOwn = column.name == column.at.segments.last?.identifier
    guard isOwn else { return 9 }
    if word == "id" { return 0 }
    if [resource.word + "id", "uuid", "guid"].contains(word) { return 1 }
    if word == "key" { return 2 }
    if ["code", "slug", "sku", "number", "iid", "isbn", "symbol", "handle"].contains(word) { return 3 }
    if word == "name", isSlug { return 4 }
    if Vocabulary.addresses.contains(word) { return 5 }
    if word.hasSuffix("id") { return 6 }
    return ["name", "title", "login", "username"].contains(word) ? 7 : 8
  }

  func note(_ at: JSONPointer, of records: Int) -> Note {
    if !isUnique {
      return .unseen(
        .key, "a field that differs in each record: several have the same here, and the last one would win")
    }
    if storable < records {
      return .unseen(
        .key, "a field that each record has: \(records - storable) of \(records) lack this one and would be rejected")
    }
    if records == 1 { return .unseen(.key, "whether it differs from record to record: only one was there") }
    return .unseen(.key, "whether it differs beyond these \(records) records")
  }
}

extension JSONValue {
  /// What can be a key (P9); nil: nothing that can. Texts and numbers are never the same key.
  fileprivate var key: String? {
    switch self {
    case .text(let text): text.isEmpty ? nil : "\"\(text)"
    case .number(let digits): Int64(digits).flatMap { $0 >= 1 ? digits : nil }
    case .null, .boolean, .list, .object: nil
    }
  }
}
