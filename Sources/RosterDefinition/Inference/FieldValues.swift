import RosterCore

/// The values of several fields, found in one pass over the records. A search for each field in each record would cost
/// the square of the number of fields.
struct FieldValues {
  /// The values of each field, in the order of the records. A record without the field has no value there.
  private(set) var all: [[JSONValue]]

  /// - Parameter places: The fields, each a member of the record or of objects inside it.
  init(at places: [JSONPointer], in records: [JSONValue]) {
    all = Array(repeating: [], count: places.count)
    var root = Node()
    for (field, place) in places.enumerated() { root.add(field, at: place.segments[...]) }
    for record in records { root.collect(record, into: &all) }
  }

  /// The fields at one place, and the places below it. Names are compared byte by byte.
  private struct Node {
    private var fields: [Int] = []
    private var members: [[UInt8]: Node] = [:]

    mutating func add(_ field: Int, at way: ArraySlice<String>) {
      guard let name = way.first else { return fields.append(field) }
      members[Array(name.utf8), default: Node()].add(field, at: way.dropFirst())
    }

    func collect(_ value: JSONValue, into values: inout [[JSONValue]]) {
      for field in fields { values[field].append(value) }
      if members.isEmpty { return }
      for member in value.members { members[Array(member.name.utf8)]?.collect(member.value, into: &values) }
    }
  }
}

extension [JSONValue] {
  /// The values that can be a key. Texts are compared byte by byte, as the cache compares them.
  var keys: (count: Int, areUnique: Bool) {
    let keys = compactMap(\.key)
    return (keys.count, Set(keys.map { [UInt8]($0.utf8) }).count == keys.count)
  }
}
