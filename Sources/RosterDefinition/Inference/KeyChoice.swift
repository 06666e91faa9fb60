import RosterCore

/// The choice of the columns that identify a record.
struct KeyChoice {
  /// Indices of the columns; several only if no single one is unique.
  let columns: [Int]
  /// True if every record has a key, and no two have the same one.
  let isWhole: Bool
  let notes: [Note]

  /// nil if no column can be a key.
  /// - Parameter given: Values of `--of`. A column that repeats one of them in every record is the parent's, unless it
  ///   is called `id`.
  init?(_ columns: [Resource.Column], of records: [JSONValue], resource: String, besides given: [String] = []) {
    let values = FieldValues(at: columns.map(\.at), in: records).all
    let ranks = columns.indices.map { Candidate.rank(columns[$0], values: values[$0], of: records, resource: resource) }
    // A column that does not fit into a definition and has no name of a key is the key only if no other column is.
    let isLikely = columns.indices.map { $0 < Fields.maxColumns || ranks[$0] < Candidate.unnamed }
    let order = columns.indices.sorted { one, other in
      (isLikely[one] ? 0 : 1, ranks[one], one) < (isLikely[other] ? 0 : 1, ranks[other], other)
    }
    let candidates = order.compactMap { column -> Candidate? in
      let isParents = given.contains { value in values[column].allSatisfy { $0.isText(value) } }
      if isParents, columns[column].ownField?.word != "id" { return nil }
      return Candidate(column, type: columns[column].type, values: values[column])
    }
    var best: Candidate?
    for candidate in candidates {
      let isKey = candidate.isKey(of: records)
      if isKey || isLikely[candidate.column] && best?.isWorse(than: candidate) ?? true { best = candidate }
      if isKey { break }
    }
    guard let best else { return nil }
    let parts = candidates.filter { candidate in
      candidate.hasEvery(of: records)
        && !Vocabulary.changeTimes.contains(columns[candidate.column].ownField?.word ?? "")
    }.map(\.column)
    if !best.isUnique, let together = CompositeKey(parts, values: values) {
      self.columns = together.columns
      isWhole = true
      notes = [.unseen(.key, text: "whether these fields are unique together; each of them alone has duplicates")]
      return
    }
    self.columns = [best.column]
    isWhole = best.isKey(of: records)
    notes = [best.note(of: records.count)]
  }
}

/// Columns that are unique together.
private struct CompositeKey {
  let columns: [Int]

  /// Columns that are tried in pairs, and in groups of three.
  private static let (maxPaired, maxGrouped) = (24, 10)

  /// nil if no two or three of the columns are unique together.
  /// - Parameter columns: the best ones first; each record has a key in each of them.
  init?(_ columns: [Int], values: [[JSONValue]]) {
    let pairs = Self.groups(of: columns.prefix(Self.maxPaired)[...]).sorted { $0.rank < $1.rank }.map(\.columns)
    let grouped = Array(columns.prefix(Self.maxGrouped))
    let triples = grouped.indices.flatMap { first in
      Self.groups(of: grouped[(first + 1)...]).map { [grouped[first]] + $0.columns }
    }
    guard let found = (pairs + triples).first(where: { Self.areUnique($0, values: values) }) else { return nil }
    self.columns = found
  }

  /// All pairs, each with the sum of the ranks of its columns.
  private static func groups(of columns: ArraySlice<Int>) -> [(columns: [Int], rank: Int)] {
    columns.indices.flatMap { one in
      columns[(one + 1)...].indices.map { other in ([columns[one], columns[other]], one + other) }
    }
  }

  private static func areUnique(_ columns: [Int], values: [[JSONValue]]) -> Bool {
    let records = values[columns[0]].indices
    let keys = records.map { record in columns.map { Array((values[$0][record].key ?? "").utf8) } }
    return Set(keys).count == keys.count
  }
}

/// A column that may be the key. If two candidates are equally good, the one with the better rank is tried first.
private struct Candidate {
  let column: Int
  /// Number of records with a valid key in that column.
  private let storable: Int
  let isUnique: Bool

  /// nil if no record has a valid key in that column, or a number there has a fraction.
  init?(_ column: Int, type: Resource.ColumnType, values: [JSONValue]) {
    guard type.isOfKeys || type.isNumber else { return nil }
    guard type.isOfKeys || values.allSatisfy({ $0.number == nil || $0.wholeNumber != nil }) else { return nil }
    let keys = values.keys
    guard keys.count > 0 else { return nil }
    self.column = column
    storable = keys.count
    isUnique = keys.areUnique
  }

  func isKey(of records: [JSONValue]) -> Bool { isUnique && hasEvery(of: records) }

  func hasEvery(of records: [JSONValue]) -> Bool { storable == records.count }

  func isWorse(than other: Candidate) -> Bool {
    isUnique == other.isUnique ? storable < other.storable : !isUnique
  }

  /// The rank of a record's own column whose name says nothing of a key.
  static let unnamed = 9
  /// The rank of a column whose name says that it is an id.
  static let id = 1

  /// How well the column's name fits a key; 0 is the best.
  static func rank(_ column: Resource.Column, values: [JSONValue], of records: [JSONValue], resource: String) -> Int {
    if Vocabulary.selfLinks.contains(column.at) { return 5 }
    guard let word = column.ownField?.word else {
      // Reddit's records are in an object: its id is a better key than its title.
      return Vocabulary.ids.contains(column.at.segments.last?.word ?? "") ? unnamed + 1 : unnamed + 2
    }
    if Vocabulary.versions.contains(word) { return unnamed + 3 }
    if word == "id" { return 0 }
    if word == resource.word + "id" || Vocabulary.ids.contains(word) { return id }
    if word == "key" { return 2 }
    if ["code", "slug", "sku", "number", "iid", "isbn", "doi", "symbol", "handle"].contains(word) { return 3 }
    if word == "name", InferredType(of: values).isSlug {
      // A reference to another record is a name and an address: PokeAPI's names are unique.
      return records.allSatisfy { $0.members.count <= 2 } ? 4 : 6
    }
    if Vocabulary.addresses.contains(word) { return 5 }
    if word.hasSuffix("id") { return 7 }
    return ["name", "title", "login", "username"].contains(word) ? 8 : unnamed
  }

  func note(of records: Int) -> Note {
    if !isUnique {
      return .unseen(
        .key, text: "a unique field: several records have the same value here, and a sync keeps only the last of them")
    }
    if storable < records {
      let lacking = "\(records - storable) of \(records) lack this one"
      return .unseen(.key, text: "a field that every record has: \(lacking), and a sync rejects them")
    }
    if records == 1 { return .unseen(.key, text: "whether this field is unique: the answer has only one record") }
    return .unseen(.key, text: "whether this field is unique beyond these \(records) records")
  }
}

extension JSONValue {
  /// True for this text, or a number in this spelling.
  fileprivate func isText(_ other: String) -> Bool {
    switch self {
    case .text(let text): text == other
    case .number(let digits): digits == other
    case .null, .boolean, .list, .object: false
    }
  }

  /// The value as a key, nil if it cannot be one. A text and a number are never the same key.
  var key: String? {
    switch self {
    case .text(let text): text.isEmpty ? nil : "\"\(text)"
    case .number: wholeNumber.map { "\($0)" }
    case .null, .boolean, .list, .object: nil
    }
  }

  /// The value that an integer column stores of a number: `12`, and `12.0` too. nil for any other value.
  var wholeNumber: Int64? {
    guard case .number(let digits) = self else { return nil }
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    return parts.dropFirst().allSatisfy { $0.utf8.allSatisfy { $0 == UInt8(ascii: "0") } } ? Int64(parts[0]) : nil
  }
}
