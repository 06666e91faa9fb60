internal import RosterCore
internal import RosterDecode
internal import RosterDefinition

extension Resource {
  /// `resources.definition`: the JSON of `[resource.NAME]` with defaults filled in and secrets masked.
  var definition: String { secretsMasked().definitionJSON }

  /// The requests and the reading of pages. Pages that were pulled by an equal definition are of use.
  var pulledDefinition: String {
    var pulled = self
    pulled.auditEvery = Self.usualAudit
    pulled.byKeyRecords = JSONPointer()
    pulled.pages.value = nil
    return pulled.definition
  }

  /// True if a stored definition differs at most in keys that make no other records.
  func isLike(_ definition: String) -> Bool {
    if definition.utf8.elementsEqual(self.definition.utf8) { return true }
    return stored(definition)?.recordPart == secretsMasked().recordPart
  }

  /// True if a stored definition has the same settings of `each`, and the same statuses of an empty list.
  func hasListRules(of definition: String) -> Bool {
    if each == nil || definition.utf8.elementsEqual(self.definition.utf8) { return true }
    let stored = stored(definition)
    return stored?.each == each && stored?.answers.noRecords.statuses == answers.noRecords.statuses
  }

  /// The requests of the resource, and the way in which its pages are read. If the list has a single page, no
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
  /// do not belong to it. nil without `since`.
  var sinceQuestion: String? {
    guard var since = secretsMasked().since else { return nil }
    since.overlap = Since.usualOverlap(since.form)
    since.wholeEvery = Since.usualWhole
    return JSONWriter(TOMLItem.table(since.definitionItems).json).text
  }

  /// Identifies the list of the resource. If it changes, records that are absent from the new list do not count as
  /// missing.
  var listed: String {
    let items = definitionItems
    let parts =
      ["path", "key", "records", "where"] + (baseURL == nil ? [] : ["base_url"]) + (shape.isPlain ? [] : ["shape"])
    let parent: [JSONValue] = each.map { [.text($0.parent)] } ?? []
    return JSONWriter(.list(parts.compactMap { items[$0]?.json } + parent)).text
  }

  private func stored(_ definition: String) -> Resource? {
    (try? JSONValue(json: definition.utf8)).flatMap { Resource(stored: $0, name: name) }?.secretsMasked()
  }

  private var definitionJSON: String { JSONWriter(TOMLItem.table(definitionItems).json).text }

  /// The definition without the keys that make no other records.
  private var recordPart: Resource {
    var part = self
    part.auditEvery = Self.usualAudit
    part.byKeyRecords = JSONPointer()
    part.pages.value = nil
    part.since = nil
    // Other conditions on an answer reject other answers, and what is rejected holds back removals.
    (part.answers, part.answers.expect, part.answers.partial) = (AnswerRules(), answers.expect, answers.partial)
    part.each = each.map { Each(of: $0.parent) }
    return part
  }

  /// Reads a stored definition. nil if rosterd did not write it.
  init?(name: String, pulledBy definition: String) {
    guard let json = try? JSONValue(json: definition.utf8), let resource = Resource(stored: json, name: name),
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
