import RosterCore

/// The columns of a list's table.
struct ListRow {
  private(set) var columns: [Resource.Column] = []
  /// True if some fields of the elements have no column.
  private(set) var isCut = false
  private var names: UniqueNames

  /// More columns are hard to read.
  private static let maxColumns = 40

  init(resource: String) { names = UniqueNames(ofColumnsBeside: ReservedNames.listColumns(of: resource)) }

  /// Adds no column if the elements are of several kinds, or have nothing that a column can store.
  mutating func add(_ element: InferredType, field: String) {
    if element.scalarType != nil {
      let name = element.isAddress ? "url" : Noun.singular(field) == field ? "value" : Noun.singular(field)
      add(element, at: JSONPointer(), name: name, of: element.present + element.nulls)
    } else if element.kinds == [.object] {
      addObject(element, at: JSONPointer(), prefix: nil, of: element.present + element.nulls)
    }
  }

  private mutating func addObject(_ shape: InferredType, at: JSONPointer, prefix: String?, of count: Int) {
    let taken = shape.telling.map(\.name)
    for field in shape.members {
      let place = at.appending(field.name)
      let name = [prefix, field.name.identifier].compactMap(\.self).joined(separator: "_")
      if taken.contains(field.name) {
        add(field.shape, at: place, name: name, of: count)
      } else if prefix == nil, field.shape.kinds == [.object], field.shape.hasDifferingMembers {
        addWhole(at: place, name: name)
      } else if prefix == nil, field.shape.kinds == [.object], !field.shape.isMap(named: field.name.word) {
        addObject(field.shape, at: place, prefix: name, of: count)
      } else {
        isCut = true
      }
    }
  }

  private mutating func add(_ shape: InferredType, at: JSONPointer, name: String, of count: Int) {
    guard hasRoom() else { return }
    columns.append(Resource.Column(names.take(name), at: at, shape: shape, of: count))
  }

  private mutating func addWhole(at: JSONPointer, name: String) {
    guard hasRoom() else { return }
    columns.append(Resource.Column(names.take(name), at: at, .json))
  }

  private mutating func hasRoom() -> Bool {
    isCut = isCut || columns.count >= Self.maxColumns
    return columns.count < Self.maxColumns
  }
}
