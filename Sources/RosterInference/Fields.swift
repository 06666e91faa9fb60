import RosterModel

/// The columns and lists that take a record's fields. What none of them takes stays in `extra`: nothing is lost.
struct Fields {
  private(set) var columns: [Resource.Column] = []
  private(set) var lists: [Resource.List] = []
  /// Of single columns and lists.
  private var remarks: [Note] = []
  /// Places of an object that only some records have, and how many have it.
  private(set) var sometimes: [(at: JSONPointer, records: Int)] = []

  private let resource: String
  private let records: Int
  private var names = UniqueNames(ofColumnsBeside: ReservedNames.columns)
  private var tables: UniqueNames
  /// In `extra`, for people.
  private var kept: [String] = []
  private var nulls: [JSONPointer] = []
  private var emptyLists: [JSONPointer] = []

  /// More do not read well, and SQLite refuses expressions of more than 1,000 levels (sqlite.org/limits.html).
  private static let mostColumns = 100
  private static let mostLists = 20

  /// - Parameter tables: that must not be taken; the resource's own among them.
  init(of records: [JSONValue], resource: String, tables: UniqueNames) {
    self.resource = resource
    self.records = records.count
    self.tables = tables
    let shape = Shape(of: records)
    add(shape, at: JSONPointer(), prefix: nil)
  }

  /// Leaves as many columns as read well, that of the key among them. Returns where it is then.
  mutating func cut(keeping key: Int) -> Int {
    guard columns.count > Self.mostColumns else { return key }
    let first = columns.prefix(key < Self.mostColumns ? Self.mostColumns : Self.mostColumns - 1)
    let left = columns.indices.dropFirst(first.count).filter { $0 != key }
    kept += left.map { "\(columns[$0].at)" }
    columns = first + (key < first.count ? [] : [columns[key]])
    return min(key, columns.count - 1)
  }

  /// The fields of the record itself, or of an object that only wraps them.
  private mutating func add(_ shape: Shape, at: JSONPointer, prefix: String?) {
    for member in shape.members {
      let place = at.appending(member.name)
      let name = [prefix, member.name.identifier].compactMap(\.self).joined(separator: "_")
      let isLinks = Vocabulary.hypermedia.contains(member.name.word) && !member.shape.isScalar
      switch member.shape.kinds {
      case []: nulls.append(place)
      case _ where isLinks: kept.append("\(place)")
      case [.object]: addObject(member, at: place, name: name)
      case [.list]: addList(member.shape, at: place, name: name)
      default: addScalar(member.shape, at: place, name: name)
      }
    }
  }

  private mutating func addScalar(_ shape: Shape, at: JSONPointer, name: String) {
    let name = names.take(name)
    columns.append(Resource.Column(name, at: at, shape, of: records))
    if shape.isMixed { remarks.append(.remark(.column(name), shape.whyJSON)) }
  }

  // MARK: Objects

  private mutating func addObject(_ member: Shape.Member, at: JSONPointer, name: String) {
    let (word, shape) = (member.name.word, member.shape)
    if shape.present + shape.nulls < records { sometimes.append((at, shape.present)) }
    let isTop = at.segments.count == 1
    if isTop, Vocabulary.wrappers.contains(member.name) || member.name == "properties" && shape.wrapsPlainFields {
      return add(shape, at: at, prefix: nil)
    }
    let taken = shape.isMap(named: word) ? [] : shape.telling
    guard !taken.isEmpty else { return addWhole(at: at, name: name) }
    for field in taken {
      let isOnly = shape.members.count == 1 || field.name == "rendered"
      addScalar(
        field.shape, at: at.appending(field.name), name: isOnly ? name : "\(name)_\(field.name.identifier)")
    }
    let rest = shape.members.count - taken.count
    if rest > 0 { kept.append("\(rest) more field\(rest == 1 ? "" : "s") of \(at)") }
  }

  private mutating func addWhole(at: JSONPointer, name: String) {
    columns.append(Resource.Column(names.take(name), at: at, .json))
  }

  // MARK: Lists

  private mutating func addList(_ shape: Shape, at: JSONPointer, name: String) {
    guard let element = shape.element else { return emptyLists.append(at) }
    guard lists.count < Self.mostLists else { return kept.append("\(at)") }
    var row = ListRow(resource: resource)
    row.add(element, field: name)
    guard !row.columns.isEmpty else { return addWhole(at: at, name: name) }
    let plural = Noun.plural(name)
    let table = tables.take(plural.hasPrefix("\(resource)_") ? plural : "\(resource)_\(plural)")
    lists.append(Resource.List(table: table, at: at, columns: row.columns))
    if row.isCut { remarks.append(.remark(.list(table), "the elements' other fields stay in its `extra`")) }
  }

  // MARK: The rest

  /// Of columns, and of what none of them takes.
  var notes: [Note] {
    var notes = remarks
    let stays = "until something takes them they stay in `extra`"
    if !nulls.isEmpty {
      let places = Self.some(nulls.map(\.description))
      notes.append(.unseen(.columns, "the types of \(places), null in all records; \(stays)"))
    }
    if !emptyLists.isEmpty {
      let places = Self.some(emptyLists.map(\.description))
      notes.append(.unseen(.columns, "what is in \(places), empty in all records; \(stays)"))
    }
    if !kept.isEmpty { notes.append(.remark(.columns, "`extra` keeps what no column takes: \(Self.some(kept))")) }
    return notes
  }

  /// What fits a comment.
  private static func some(_ names: [String]) -> String {
    let most = 12
    let shown = names.prefix(most).map(\.shortened).joined(separator: ", ")
    return names.count > most ? "\(shown) and \(names.count - most) more" : shown
  }
}

extension String {
  /// What a comment can hold: upstream may name a field as long as it likes.
  fileprivate var shortened: String { count > 60 ? "\(prefix(60))…" : self }
}
