package import RosterCore

/// Derives a definition from one answer of a list. It has no state and does no I/O.
package enum Inference {
  /// Throws `Failure` (65) if the answer has no list of objects, or the objects have no field that can be a key.
  /// Throws `Failure` (64) if the address lacks a value of a parent.
  package static func finding(_ answer: ListAnswer) throws(Failure) -> InferredDefinition {
    var answer = answer
    if let asked = answer.asked { answer.asked?.address = try asked.address.filled(with: asked.parents) }
    let (address, parent) = (answer.asked?.address, answer.asked?.parents.last?.column)
    let hadNUL = answer.dropNUL()
    let noun = address.flatMap { ResourceName.noun(ofPath: $0.namingPath) }
    let list = try RecordList(in: answer, noun: noun)
    let isDetail = list.detail != nil
    let name = ResourceName(
      noun: noun, list, parent: parent?.resource,
      tail: address.flatMap { ResourceName.tail(ofPath: $0.namingPath) }, isAddressGiven: address?.isGiven == true)
    var fields = Fields(of: list.records, resource: name.resource, tables: name.otherTables, parent: parent?.resource)
    let key = isDetail ? nil : try keyChoice(&fields, of: list.records, resource: name.resource, in: answer)
    let keyColumns = fields.setKey(key?.columns ?? [])
    let columns = fields.columns
    let keys = keyColumns.map { columns[$0].at }
    let firstKey = keys.first ?? JSONPointer(segments: ["id"])
    let evidence = PageEvidence(
      answer, records: list.records.count + list.strangers,
      sorted: isDetail ? [] : SortedField.all(of: columns, key: firstKey, in: list.records))
    let paging = isDetail ? nil : PageChoice(evidence, key: firstKey)
    let query = Query(address?.parameters ?? [], besides: paging?.taken ?? [])
    let pages = paging?.pages ?? Resource.Pages(.record)
    let path = address.map { pages.style.param == .path ? ($0.path.splitPage?.path ?? "/") + "{page}" : $0.path }
    var resource = Resource(
      name: name.resource, path: path ?? Placeholder.path, query: query.stays, records: list.at,
      shape: list.shaped?.shape ?? .objects, rowNames: list.shaped?.names ?? JSONPointer(),
      key: firstKey, otherKeys: Array(keys.dropFirst()), table: name.table,
      pages: pages,
      columns: columns, lists: fields.lists, each: parent.map { Each(of: $0.resource) })
    resource.answers = answerRules(of: answer.body, list)
    let request = RequestNotes(answer.asked, query: query, style: pages.style, evidence: evidence)
    return InferredDefinition(
      source: address?.shown, records: list.records.count, baseURL: address?.baseURL ?? Placeholder.baseURL,
      headers: request.headers, caFile: answer.asked?.caFile, isRebased: request.isRebased, resource: resource,
      notes: request.notes + list.notes + (key?.notes ?? [])
        + suggestions(resource, fields: fields, of: list.records)
        + proposals(resource, in: answer, of: list.records) + (paging?.notes ?? [])
        + fields.notes(besides: keys) + (hadNUL ? [.nul] : []))
  }

  private static func answerRules(of body: JSONValue, _ list: RecordList) -> AnswerRules {
    var rules = AnswerRules()
    guard list.detail == nil else { return rules }
    rules.isListOfOne = list.isListOfOne
    rules.noRecords.isAbsent = list.isListOfOne || EmptyLists.leavesOutEmptyLists(body, records: list.at)
    rules.noRecords.isNull = !list.at.isWhole && EmptyLists.writesNullForEmptyLists(list.records)
    return rules
  }

  private static func keyChoice(
    _ fields: inout Fields, of records: [JSONValue], resource: String, in answer: ListAnswer
  ) throws(Failure) -> KeyChoice {
    let given = answer.asked?.parents.map(\.value) ?? []
    let key = KeyChoice(fields.columns, of: records, resource: resource, besides: given)
    if let key, key.isWhole { return key }
    fields.addInnerKeys(of: records)
    if let inner = KeyChoice(fields.columns, of: records, resource: resource, besides: given), inner.isWhole {
      return inner
    }
    if let key { return key }
    throw answer.failure(
      "its records have no field that could be a key: an integer, or a text that is not empty",
      hint: "give the address of another list")
  }

  /// Proposals for other ways to pull the resource, and for its children.
  private static func proposals(_ resource: Resource, in answer: ListAnswer, of records: [JSONValue]) -> [Note] {
    let children = ChildChoice(resource: resource, records: records, address: answer.asked?.address).notes
    guard let each = resource.each else {
      return SinceChoice.notes(resource, body: answer.body, of: records)
        + WindowChoice.notes(resource, body: answer.body) + children
    }
    let forms: [Note] =
      resource.isDetail || resource.records.isWhole || resource.answers.noRecords.isAbsent
      ? []
      : [
        .unseen(
          .noRecords, text: "the answer for a parent without records; if the list is left out of it",
          lines: "no_records = [\"absent\"]")
      ]
    let change = "each = { of = \(each.parent.tomlString), changed = [\"updated_at\"] }"
    return [
      .unseen(
        .each,
        text:
          "a column of \(each.parent) that changes with this \(resource.isDetail ? "record" : "list"); then a sync requests those of changed parents only",
        lines: change)
    ] + forms + children
  }

  /// Several lists of one API, as definitions of one configuration. Throws the errors of `finding`, and `Failure` (64)
  /// if two of them would have the same name or table.
  /// - Parameter base: `upstream.base_url`; nil if the only list chooses it.
  package static func findings(_ answers: [ListAnswer], below base: String?) throws(Failure) -> [InferredDefinition] {
    var findings: [InferredDefinition] = []
    var names: Set<String> = []
    for var answer in answers {
      if let base, let address = answer.asked?.address.below(base) { answer.asked?.address = address }
      let found = try finding(answer)
      let own = ["[resource.\(found.resource.name)]"] + found.tables.map { "table \($0)" }
      if let twice = own.first(where: names.contains) { throw sameName(twice, in: found.source ?? "the list") }
      names.formUnion(own)
      findings.append(found)
    }
    return findings
  }

  /// Throws `Failure` (64) if the paths of two addresses give their lists the same name or table, so that neither is
  /// requested. A list whose path has no name gets one from its answer.
  package static func expectDifferentNames(_ addresses: [ListAddress]) throws(Failure) {
    var names: Set<String> = []
    for address in addresses {
      guard let name = ResourceName.noun(ofPath: address.namingPath).map(ResourceName.name) else { continue }
      let own = ["[resource.\(name)]", "table \(ResourceName.table(of: name))"]
      if let twice = own.first(where: names.contains) { throw sameName(twice, in: address.shown) }
      names.formUnion(own)
    }
  }

  private static func sameName(_ name: String, in list: String) -> Failure {
    Failure(
      .usage, step: "infer a definition", subject: list, cause: "another of the lists has the same \(name)",
      hint: "infer them one by one, and rename one of them")
  }

  /// Suggestions for further keys of the definition.
  private static func suggestions(_ resource: Resource, fields: Fields, of records: [JSONValue]) -> [Note] {
    var notes: [Note] = []
    if let (at, count) = fields.rare.first {
      notes.append(
        .remark(
          .condition,
          text: "\(count) of \(records.count) records have \(at); this skips them, if they are of another kind",
          lines: "where = { \(at.description.tomlString) = \"absent\" }"))
    }
    if let hidden = hiddenStatus(resource, records: records) { notes.append(hidden) }
    let texts = resource.columns.filter { $0.type.isText && Vocabulary.searched.contains($0.ownField?.word ?? "") }
    if !texts.isEmpty {
      let names = texts.prefix(8).map(\.name.tomlString).joined(separator: ", ")
      notes.append(.remark(.search, text: "full-text search", lines: "search = [\(names)]"))
    }
    return resource.isDetail ? notes : notes + [byKey(resource)]
  }

  /// A status that some records have and that means that they are no longer there.
  private static func hiddenStatus(_ resource: Resource, records: [JSONValue]) -> Note? {
    for column in resource.columns where ["status", "state"].contains(column.ownField?.word ?? "") {
      let values = Set(records.compactMap { $0[column.at]?.text })
      let gone = values.filter { Vocabulary.goneStatuses.contains($0.word) }.sorted()
      guard !gone.isEmpty, gone.count < values.count else { continue }
      let texts = gone.map(\.tomlString).joined(separator: ", ")
      let list = gone.count == 1 ? texts : "[\(texts)]"
      return .remark(
        .condition, text: "this skips records that upstream keeps although they are gone",
        lines: "where = { \(column.at.description.tomlString) = { not = \(list) } }")
    }
    return nil
  }

  /// In most APIs, a record's address is below that of its list: `/tickets/35436.json` for `/tickets.json`.
  private static func byKey(_ resource: Resource) -> Note {
    let segments = resource.path.split(separator: "/")
    let isAddress = Vocabulary.addresses.contains(resource.key.segments.last?.word ?? "")
    guard resource.path != Placeholder.path, !isAddress, !resource.hasCompositeKey, let last = segments.last,
      ResourceName.noun(ofPath: resource.path) == String(last.prefix { $0 != "." })
    else {
      return .unseen(.byKey, text: "the address of one record; with `by_key`, a sync confirms removals at once")
    }
    let slash = resource.path.hasSuffix("/") ? "/" : ""
    let parts = segments.dropLast() + [last.prefix { $0 != "." }, "{key}\(last.drop { $0 != "." })\(slash)"]
    return .unseen(
      .byKey, text: "whether this address returns one record; with `by_key`, a sync confirms removals at once",
      lines: "by_key = \(parts.map { "/\($0)" }.joined().tomlString)")
  }

  /// Addresses for an answer from standard input.
  enum Placeholder {
    static let baseURL = "https://api.example.com"
    static let path = "/records"
  }
}

extension Note {
  fileprivate static let nul = Note.remark(
    .columns, text: "fields with NUL in their names are kept in `extra`, because TOML cannot contain such names")
}

extension ListAnswer {
  /// Removes members with NUL in their names. Returns true if there were any.
  fileprivate mutating func dropNUL() -> Bool {
    let whole = body
    body = whole.withoutNUL
    return body != whole
  }
}

extension JSONValue {
  fileprivate var withoutNUL: JSONValue {
    switch self {
    case .null, .boolean, .number, .text: self
    case .list(let elements): .list(elements.map(\.withoutNUL))
    case .object(let members):
      .object(members.filter { !$0.name.utf8.contains(0) }.map { Member($0.name, $0.value.withoutNUL) })
    }
  }
}
