import RosterModel

// What becomes of a shape in a table.

extension Resource.Column {
  /// - Parameter count: how many rows there are; fewer values than that are NULL where they are missing.
  init(_ name: String, at: JSONPointer, _ shape: Shape, of count: Int) {
    let type = shape.scalarType ?? .json
    self.init(name, at: at, type, isNullable: type == .text && shape.present < count)
  }
}

extension Shape {
  /// Of an object: its scalar fields that are worth a column. Not addresses beside other things; of many those that say
  /// which one it is.
  var telling: [Member] {
    let scalars = members.filter(\.shape.isScalar)
    if scalars.count <= 3 { return scalars }
    let plain = scalars.filter { !$0.shape.isAddress }
    if plain.count <= Self.mostTelling { return plain.isEmpty ? Array(scalars.prefix(1)) : plain }
    let naming = plain.filter { Vocabulary.naming.contains($0.name.word) }
    return naming.isEmpty ? [] : Array(naming.prefix(3))
  }

  /// An address of a person or thing has about as many parts.
  private static var mostTelling: Int { 7 }

  /// Of an object: its names are data, not fields.
  func isMap(named word: String) -> Bool {
    if Vocabulary.maps.contains(word) || members.isEmpty { return true }
    let odd = members.filter { !$0.name.isFieldLike }
    return odd.count * 2 > members.count || odd.contains { $0.name.word.allSatisfy(\.isASCIIDigit) }
  }

  /// GeoJSON's features have such; those of a page of Notion's are objects that the user has named.
  var wrapsPlainFields: Bool {
    let plain = members.filter { $0.shape.kinds != [.object] }
    return plain.count * 2 >= members.count
  }

  /// Why no other type holds it: for people.
  var whyJSON: String {
    kinds == [.wide] ? "numbers that no 64 bits hold, kept as written" : "\(kindNames), kept as written"
  }
}

extension String {
  /// An identifier in any case.
  fileprivate var isFieldLike: Bool {
    !isEmpty && utf8.count <= 40 && word.utf8.count * 2 > utf8.count && !contains(" ") && first?.isASCIIDigit == false
  }
}
