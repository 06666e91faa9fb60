import RosterCore

/// The columns and lists that take a record's fields. Fields without a column or list stay in `extra`, so no data is
/// lost.
struct Fields {
  private(set) var columns: [Resource.Column] = []
  private(set) var lists: [Resource.List] = []
  /// Notes about single columns and lists.
  private var remarks: [Note] = []
  /// Places of objects that at most a tenth of the records have, and how many records have them.
  private(set) var rare: [(at: JSONPointer, records: Int)] = []
  /// Places of whole numbers whose column is `real`, because the sample is small.
  private var cautious: [JSONPointer] = []

  private let resource: String
  private let records: Int
  /// True if the record itself has an id.
  private let isIdentified: Bool
  private var names: UniqueNames
  private var tables: UniqueNames
  /// Places of columns that exist only as candidates for the key.
  private var spare: [JSONPointer] = []
  /// Descriptions of fields without a column.
  private var kept: [String] = []
  private var nulls: [JSONPointer] = []
  private var emptyLists: [JSONPointer] = []

  /// More columns are hard to read, and SQLite refuses expressions of more than 1,000 levels (sqlite.org/limits.html).
  static let maxColumns = 100
  private static let maxLists = 20

  /// - Parameters:
  ///   - tables: names of tables, with those that are already taken.
  ///   - parent: the resource of `each.of`, whose record id has a column of its own.
  init(of records: [JSONValue], resource: String, tables: UniqueNames, parent: String?) {
    names = UniqueNames(ofColumnsBeside: ReservedNames.columns + (parent.map { ["\($0)_id"] } ?? []))
    self.resource = resource
    self.records = records.count
    self.tables = tables
    let shape = InferredType(of: records)
    isIdentified = shape.hasID
    add(shape, at: JSONPointer(), prefix: nil)
    if !records.allSatisfy(\.hasKey) { addSelfLink(of: records) }
    if !columns.contains(where: { $0.type.isOfKeys || $0.type.isNumber }) { addInnerID(of: records) }
  }

  /// Adds the id that is the nearest one inside the records' objects, for records without a scalar that could be a key
  /// (ClinicalTrials.gov).
  private mutating func addInnerID(of records: [JSONValue]) {
    let places = records.first.map { Self.innerIDs($0, at: JSONPointer()) } ?? []
    let ids = places.sorted { $0.segments.count < $1.segments.count }
    let values = FieldValues(at: ids, in: records).all
    let unique = ids.indices.first { field in
      let keys = values[field].keys
      return keys.count == records.count && keys.areUnique
    }
    guard let place = unique.map({ ids[$0] }), let name = place.segments.last?.identifier else { return }
    let isText = records.allSatisfy { $0[place]?.text != nil }
    columns.append(Resource.Column(names.take(name), at: place, isText ? .text : .integer))
  }

  private static let maxIDDepth = 4

  private static func innerIDs(_ value: JSONValue, at: JSONPointer) -> [JSONPointer] {
    guard at.segments.count < maxIDDepth else { return [] }
    return value.members.flatMap { member -> [JSONPointer] in
      let place = at.appending(member.name)
      if member.value.isObject { return innerIDs(member.value, at: place) }
      return member.name.word.hasSuffix("id") && member.value.key != nil ? [place] : []
    }
  }

  /// Adds the scalars that identify objects inside the records. They are candidates for the key, and `setKey` removes
  /// those that are not in it.
  mutating func addInnerKeys(of records: [JSONValue]) {
    guard let first = records.first else { return }
    let known = Set(columns.map(\.at.segments))
    let places = Self.innerKeys(first, at: JSONPointer()).filter { at in
      !known.contains(at.segments) && records.allSatisfy { $0[at]?.key != nil }
    }
    for place in places.prefix(Self.maxInnerKeys) {
      let isText = records.allSatisfy { $0[place]?.text != nil }
      guard isText || records.allSatisfy({ $0[place]?.wholeNumber != nil }) else { continue }
      let name = place.segments.map(\.identifier).joined(separator: "_")
      columns.append(Resource.Column(names.take(name), at: place, isText ? .text : .integer))
      spare.append(place)
    }
  }

  private static let maxInnerKeys = 30

  private static func innerKeys(_ value: JSONValue, at: JSONPointer) -> [JSONPointer] {
    guard at.segments.count < maxIDDepth else { return [] }
    return value.members.flatMap { member -> [JSONPointer] in
      let place = at.appending(member.name)
      if member.value.isObject { return innerKeys(member.value, at: place) }
      let isNaming = member.name.word.hasSuffix("id") || Vocabulary.naming.contains(member.name.word)
      return isNaming && member.value.key != nil ? [place] : []
    }
  }

  /// Adds the record's own address as the last column, for a list whose records have no id.
  private mutating func addSelfLink(of records: [JSONValue]) {
    let place = Vocabulary.selfLinks.first { at in records.allSatisfy { $0[at]?.text?.isEmpty == false } }
    guard let place else { return }
    let name = place.segments.map(\.identifier).joined(separator: "_")
    columns.append(Resource.Column(names.take(name), at: place, .text))
  }

  /// Gives the key's columns the type of a key. Removes columns beyond `maxColumns`, and those that exist only as
  /// candidates for the key. Returns the key's new indices.
  /// - Parameter key: empty for a detail.
  mutating func setKey(_ key: [Int]) -> [Int] {
    let places = key.map { columns[$0].at }
    columns.removeAll { column in
      !places.contains(column.at) && (spare.contains(column.at) || Vocabulary.selfLinks.contains(column.at))
    }
    cut(keeping: places)
    let found = places.compactMap { place in columns.firstIndex { $0.at == place } }
    for column in found {
      columns[column].isNullable = false
      if !columns[column].type.isOfKeys { columns[column].type = .integer }
    }
    return found
  }

  private mutating func cut(keeping places: [JSONPointer]) {
    var room = Self.maxColumns - columns.count { places.contains($0.at) }
    let all = columns
    columns = all.filter { column in
      if places.contains(column.at) { return true }
      room -= 1
      return room >= 0
    }
    let left = columns.map(\.at)
    kept += all.filter { !left.contains($0.at) }.map { "\($0.at)" }
  }

  /// Adds the fields of the record itself, or of an object that only wraps them.
  private mutating func add(_ shape: InferredType, at: JSONPointer, prefix: String?) {
    for member in shape.members {
      let place = at.appending(member.name)
      let name = [prefix, member.name.identifier].compactMap(\.self).joined(separator: "_")
      let isLinks = Vocabulary.hypermedia.contains(member.name.word) && !member.shape.isScalar
      switch member.shape.kinds {
      case []: nulls.append(place)
      case _ where isLinks: kept.append("\(place)")
      case [.object]: addObject(member, at: place, name: name)
      case [.list]: addList(member, at: place, name: name)
      default: addScalar(member.shape, at: place, name: name)
      }
    }
  }

  private mutating func addScalar(_ shape: InferredType, at: JSONPointer, name: String) {
    let unique = names.take(name)
    let column = Resource.Column(unique, at: at, shape: shape, of: records)
    columns.append(column)
    if shape.isMixed { remarks.append(.remark(.column(unique), text: shape.whyJSON)) }
    if shape.isCautious(named: at.segments.last?.identifier ?? name) { cautious.append(at) }
  }

  // MARK: Objects

  private mutating func addObject(_ member: InferredType.Member, at: JSONPointer, name: String) {
    let (word, shape) = (member.name.word, member.shape)
    if shape.present * 10 <= records { rare.append((at, shape.present)) }
    let isWrapper =
      Vocabulary.wrappers.contains(member.name) || member.name == "properties" && shape.wrapsPlainFields
      || Vocabulary.metadata.contains(member.name) && shape.hasID && !isIdentified
    if at.segments.count == 1, isWrapper {
      return add(shape, at: at, prefix: name)
    }
    if shape.isMap(named: word) { return addWhole(at: at, name: name) }
    if shape.hasDifferingMembers {
      return addWhole(at: at, name: name, because: "its members differ from record to record")
    }
    let taken = shape.telling
    guard !taken.isEmpty else { return addWhole(at: at, name: name) }
    for field in taken {
      addScalar(field.shape, at: at.appending(field.name), name: "\(name)_\(field.name.identifier)")
    }
    let rest = shape.members.count - taken.count
    if rest > 0 { kept.append("\(rest) more field\(rest == 1 ? "" : "s") of \(at)") }
  }

  private mutating func addWhole(at: JSONPointer, name: String, because reason: String? = nil) {
    let unique = names.take(name)
    columns.append(Resource.Column(unique, at: at, .json))
    if let reason { remarks.append(.remark(.column(unique), text: reason)) }
  }

  // MARK: Lists

  /// - Parameter name: that of a column, if no table can take the elements.
  private mutating func addList(_ member: InferredType.Member, at: JSONPointer, name: String) {
    guard let element = member.shape.element else { return emptyLists.append(at) }
    guard lists.count < Self.maxLists else { return kept.append("\(at)") }
    let field = member.name.identifier
    var row = ListRow(resource: resource)
    row.add(element, field: field)
    guard !row.columns.isEmpty else { return addWhole(at: at, name: name) }
    let plural = Noun.plural(field)
    let table = tables.take(plural.hasPrefix("\(resource)_") ? plural : "\(resource)_\(plural)")
    lists.append(Resource.List(table: table, at: at, columns: row.columns))
    if row.isCut {
      remarks.append(.remark(.list(table), text: "the elements' other fields are kept in its column `extra`"))
    }
  }

  // MARK: Comments

  /// - Parameter key: places of the key, which are always integers or texts; empty for a detail.
  func notes(besides key: [JSONPointer]) -> [Note] {
    var notes = remarks
    let whole = cautious.filter { !key.contains($0) && columns.map(\.at).contains($0) }
    if !whole.isEmpty {
      let places = Self.some(whole.map(\.description))
      notes.append(
        .remark(.columns, text: "whole numbers in this answer, `real` in case other records have fractions: \(places)"))
    }
    if !nulls.isEmpty {
      let places = Self.some(nulls.map(\.description))
      notes.append(.unseen(.columns, text: "the types of these fields, which are null in all records: \(places)"))
    }
    if !emptyLists.isEmpty {
      let places = Self.some(emptyLists.map(\.description))
      notes.append(.unseen(.columns, text: "the elements of these lists, which are empty in all records: \(places)"))
    }
    if !kept.isEmpty {
      notes.append(.remark(.columns, text: "without a column, so kept in `extra`: \(Self.some(kept))"))
    }
    return notes
  }

  /// The first names of a list, joined to fit a comment.
  private static func some(_ names: [String]) -> String {
    let maxNames = 12
    let shown = names.prefix(maxNames).map(\.shortened).joined(separator: ", ")
    return names.count > maxNames ? "\(shown) and \(names.count - maxNames) more" : shown
  }
}

extension JSONValue {
  /// True if a field that can only be an id has a valid key.
  fileprivate var hasKey: Bool { members.contains { Vocabulary.ids.contains($0.name.word) && $0.value.key != nil } }
}

extension String {
  /// The text, cut after 60 characters to fit a comment.
  fileprivate var shortened: String { count > 60 ? "\(prefix(60))…" : self }
}
