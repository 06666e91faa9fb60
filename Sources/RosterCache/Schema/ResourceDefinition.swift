internal import RosterDefinition
internal import RosterJSON
internal import RosterModel

extension Resource {
  /// `resources.definition`: the JSON of `[resource.NAME]` with defaults filled in and secrets masked (T9.5).
  var definition: String { secretsMasked().definitionJSON }

  /// The requests and the reading of pages. Pages that were pulled by an equal definition are of use.
  var pulledDefinition: String {
    var pulled = self
    pulled.auditEvery = Self.usualAudit
    pulled.byKeyRecords = JSONPointer()
    pulled.pages.value = nil
    return pulled.definition
  }

  /// True if a stored definition differs at most in keys that may change without a new feed (C3.2).
  func hasFeed(of definition: String) -> Bool {
    if definition.utf8.elementsEqual(self.definition.utf8) { return true }
    return stored(definition)?.feedPart == secretsMasked().feedPart
  }

  /// True if a stored definition has the same settings of `each`, and the same statuses of an empty list.
  func hasListRules(of definition: String) -> Bool {
    if each == nil || definition.utf8.elementsEqual(self.definition.utf8) { return true }
    let stored = stored(definition)
    return stored?.each == each && stored?.answers.noRecords.statuses == answers.noRecords.statuses
  }

  /// The requests of the resource, and the way in which its pages are read (P12). If the list has a single page, no
  /// value on it decides how the list continues. Then the place of the records does not belong to it. Secrets belong to
  /// it: another key may give another list.
  package var pulledList: [UInt8] {
    var list = Resource(name: "", path: "", columns: [])
    (list.listing, list.since, list.answers, list.baseURL) = (listing, since, answers, baseURL)
    list.keyPlaces = [JSONPointer()]
    if pages.style.kind == .one { list.records = JSONPointer() }
    return Array(list.definitionJSON.utf8)
  }

  /// The request of an incremental pull, and the places that a pull reads to set the mark. `overlap` and `whole_every`
  /// do not belong to it (I1.1). nil without `since`.
  var sinceQuestion: String? {
    guard var since = secretsMasked().since else { return nil }
    since.overlap = Since.usualOverlap(since.form)
    since.wholeEvery = Since.usualWhole
    return JSONWriter(TOMLItem.table(since.definitionItems).json).text
  }

  /// Identifies the list of the resource (P8). If it changes, records that are absent from the new list do not count as
  /// missing.
  var listed: String {
    let items = definitionItems
    let parts =
      ["path", "key", "records", "where"] + (baseURL == nil ? [] : ["base_url"]) + (shape.isPlain ? [] : ["shape"])
    let parent: [JSONValue] = each.map { [.text($0.parent)] } ?? []
    return JSONWriter(.list(parts.compactMap { items[$0]?.json } + parent)).text
  }

  private func stored(_ definition: String) -> Resource? {
    (try? JSONValue(json: definition.utf8)).flatMap { Resource(stored: $0.current, name: name) }?.secretsMasked()
  }

  private var definitionJSON: String { JSONWriter(TOMLItem.table(definitionItems).json).text }

  /// The definition without keys that may change without a new feed.
  private var feedPart: Resource {
    var part = self
    part.auditEvery = Self.usualAudit
    part.byKeyRecords = JSONPointer()
    part.pages.value = nil
    part.since = nil
    part.answers = AnswerRules()
    part.each = each.map { Each(of: $0.parent) }
    return part
  }

  /// Reads a stored definition. nil if rosterd did not write it.
  init?(name: String, pulledBy definition: String) {
    guard let json = try? JSONValue(json: definition.utf8), let resource = Resource(stored: json.current, name: name),
      !resource.columns.isEmpty, resource.isDetail || resource.keyColumns != nil
    else { return nil }
    self = resource
  }
}

extension ResourceTables {
  /// Reads a definition from the table `resources`. Throws `SQLiteError` (damaged) if rosterd did not write it.
  convenience init(name: String, definition: String) throws {
    guard let resource = Resource(name: name, pulledBy: definition) else {
      throw SQLiteError.damaged("the definition of \(name) cannot be read")
    }
    try self.init(resource)
  }
}

// MARK: Definitions of earlier versions

extension JSONValue {
  /// A definition in the form of today. Earlier versions had a table of their own for the rules of answers. They wrote
  /// an offset as seconds, and `null` for each column that may be NULL.
  fileprivate var current: JSONValue {
    guard case .object(let members) = self, self["no_records"] == nil else { return self }
    let answers: [Member] = if case .object(let inner)? = self["answers"] { inner } else { [] }
    return .object(
      members.filter { $0.name != "answers" }.map { member in
        switch member.name {
        case "columns": Member(member.name, member.value.currentColumns)
        case "lists": Member(member.name, member.value.mapMembers { $0.mapMember("columns", \.currentColumns) })
        case "since": Member(member.name, member.value.mapMember("zone", \.currentZone))
        default: member
        }
      } + answers)
  }

  private var currentColumns: JSONValue {
    mapMembers { column in
      guard case .object(let members) = column else { return column }
      let isText = column["type"] == .text("text")
      let isNullable = column[isText ? "null" : "null_in_key"] == .boolean(true)
      let others = members.filter { $0.name != "null" && $0.name != "null_in_key" }
      return .object(others + (isNullable ? [Member("null", .boolean(true))] : []))
    }
  }

  private var currentZone: JSONValue {
    guard let seconds = integer else { return self }
    func digits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let minutes = abs(seconds) / 60
    return .text("\(seconds < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))")
  }

  private func mapMembers(_ change: (JSONValue) -> JSONValue) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.map { Member($0.name, change($0.value)) })
  }

  private func mapMember(_ name: String, _ change: (JSONValue) -> JSONValue) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members.map { $0.name == name ? Member(name, change($0.value)) : $0 })
  }
}
