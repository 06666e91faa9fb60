import RosterCore

// The columns of a shape.

extension Resource.Column {
  /// - Parameter count: number of rows; a text column with fewer values is nullable.
  init(_ name: String, at: JSONPointer, shape: InferredType, of count: Int) {
    let type = shape.columnType(named: at.segments.last?.identifier ?? name)
    self.init(name, at: at, type, isNullable: type.isText && shape.present < count)
  }
}

extension Resource.Column {
  /// The name of a field of the record itself, or of an object that wraps its fields; nil for fields of other objects.
  var ownField: String? {
    var segments = at.segments[...]
    let wrappers = Vocabulary.wrappers.union(Vocabulary.metadata)
    if segments.count > 1, wrappers.contains(segments.first ?? "") { segments.removeFirst() }
    // A text of WordPress is an object: `{"rendered": TEXT}`.
    if segments.count > 1, segments.last == "rendered" { segments.removeLast() }
    return segments.count == 1 ? segments.first : nil
  }
}

extension InferredType {
  /// A sample of fewer whole numbers does not show that the next one has no fraction.
  private static let minWholeNumbers = 20

  /// Whole numbers of a small sample become `real`, which also stores fractions; an `integer` column would reject
  /// those.
  func columnType(named name: String) -> Resource.ColumnType {
    guard kinds == [.integer] else { return scalarType ?? .json }
    let isCertain = present >= Self.minWholeNumbers || hasLargeInteger || name.saysIDOrCount
    return isCertain ? .integer : .real
  }

  /// True if a column of these whole numbers is `real` only because the sample is small.
  func isCautious(named name: String) -> Bool { kinds == [.integer] && columnType(named: name) == .real }

  /// The scalar fields of an object that deserve a column: all if there are at most three. If there are more, addresses
  /// are excluded, and if there are many, only the identifying fields are included.
  var telling: [Member] {
    let scalars = members.filter(\.shape.isScalar)
    if scalars.count <= 3 { return scalars }
    let plain = scalars.filter { !$0.shape.isAddress }
    if plain.count <= Self.maxTelling { return plain.isEmpty ? Array(scalars.prefix(1)) : plain }
    let naming = plain.filter { Vocabulary.naming.contains($0.name.word) }
    return naming.isEmpty ? [] : Array(naming.prefix(3))
  }

  /// A postal address has about as many parts.
  private static var maxTelling: Int { 7 }

  /// True if the names of an object's members are data, not fields.
  func isMap(named word: String) -> Bool {
    if Vocabulary.maps.contains(word) || members.isEmpty { return true }
    let odd = members.filter { !$0.name.isFieldLike }
    return odd.count * 2 > members.count || odd.contains { $0.name.word.allSatisfy(\.isASCIIDigit) }
  }

  /// True if a member is the id of the object itself.
  var hasID: Bool { members.contains { Vocabulary.ids.contains($0.name.word) && $0.shape.isScalar } }

  /// GeoJSON's features have such wrappers. The members of a Notion page are objects that users have named.
  var wrapsPlainFields: Bool {
    let plain = members.filter { $0.shape.kinds != [.object] }
    return plain.count * 2 >= members.count
  }

  /// The reason why no other type fits, for people.
  var whyJSON: String {
    kinds == [.wide] ? "numbers beyond 64 bits, stored as written" : "\(kindNames), stored as written"
  }
}

extension String {
  /// True for identifiers such as `user_id`, `number` and `comment_count`, but neither for `paid` nor for `discount`.
  fileprivate var saysIDOrCount: Bool {
    let words = split(separator: "_")
    let isLast = words.last.map { ["id", "ids", "iid", "pk", "count", "counts", "cnt", "number"].contains($0) } == true
    return isLast || words.count > 1 && ["num", "nb"].contains(words[0]) || hasPrefix("number_of_")
  }

  /// True for an identifier in any case.
  fileprivate var isFieldLike: Bool {
    !isEmpty && utf8.count <= 40 && word.utf8.count * 2 > utf8.count && !contains(" ") && first?.isASCIIDigit == false
  }
}
