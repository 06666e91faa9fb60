import RosterCore

extension Inference {
  /// TOML for a person to read and correct. Facts that the answers do not show are marked. It contains no secret.
  package static func toml(of findings: [InferredDefinition]) -> String {
    var text = DefinitionText()
    text.origins(findings)
    text.upstream(findings)
    for finding in findings { text.definition(finding) }
    return text.lines.joined(separator: "\n") + "\n"
  }

  /// TOML to append to a configuration that already has an `[upstream]`. Settings for that table are given as comments.
  package static func addition(of findings: [InferredDefinition]) -> String {
    addition(of: findings, isForFile: true)
  }

  /// TOML of a child, to put below the definition of its parent.
  package static func child(_ finding: InferredDefinition) -> String { addition(of: [finding], isForFile: false) }

  /// - Parameter isForFile: true if rosterd puts the text into its place.
  private static func addition(of findings: [InferredDefinition], isForFile: Bool) -> String {
    var text = DefinitionText()
    text.origins(findings)
    if !isForFile { text.parents(findings) }
    text.upstreamHints(findings)
    for finding in findings { text.definition(finding) }
    return text.lines.joined(separator: "\n") + "\n"
  }
}

extension InferredDefinition {
  fileprivate func notes(_ place: Note.Place) -> [Note] { notes.filter { $0.place == place } }
}

extension [InferredDefinition] {
  /// Notes of all findings. Equal notes occur once.
  fileprivate func notes(_ place: Note.Place) -> [Note] {
    flatMap { $0.notes(place) }.reduce(into: []) { notes, note in
      if !notes.contains(note) { notes.append(note) }
    }
  }
}

/// Lines of TOML with comments. A comment follows its line if it fits, else it precedes the line.
private struct DefinitionText {
  private(set) var lines: [String] = []

  /// Maximum line length, which terminals and diff pages show without wrapping.
  private static let width = 110

  mutating func comment(_ text: String) {
    var line = "#"
    for word in text.split(separator: " ") {
      if line.count + word.count + 1 > Self.width, line.count > 1 {
        lines.append(line)
        line = "#"
      }
      line += " \(word)"
    }
    lines.append(line)
  }

  /// - Parameter notes: precede the table's name.
  mutating func table(_ name: String, notes: [Note] = []) {
    lines.append("")
    line(nil, notes: notes)
    lines.append("[\(name)]")
  }

  /// - Parameter line: nil if there are only comments.
  mutating func line(_ line: String?, notes: [Note] = []) {
    let plain = notes.filter(\.lines.isEmpty)
    if let line, plain.count == 1, let behind = plain.first.map({ "\(line)  # \($0.comment)" }),
      behind.count <= Self.width
    {
      lines.append(behind)
    } else {
      for note in plain { comment(note.comment) }
      if let line { lines.append(line) }
    }
    for note in notes where !note.lines.isEmpty { suggest(note) }
  }

  /// Suggests lines of TOML as comments.
  private mutating func suggest(_ note: Note) {
    let only = note.lines.map { "# \($0)" }
    if only.count == 1, let behind = only.first.map({ "\($0)  # \(note.comment)" }), behind.count <= Self.width {
      lines.append(behind)
    } else {
      comment(note.comment)
      lines += only
    }
  }

  mutating func origins(_ findings: [InferredDefinition]) {
    for finding in findings {
      let found = finding.records.counted(as: "record")
      comment("Inferred by rosterd from \(found) \(finding.source.map { "of \($0)" } ?? "on standard input").")
    }
    comment("Read and correct it: \"not seen\" marks what one answer cannot show. Then: rosterd check --config FILE")
    line(nil, notes: findings.notes(.address))
  }

  /// The place of a child in a configuration.
  mutating func parents(_ findings: [InferredDefinition]) {
    for finding in findings {
      guard let parent = finding.resource.each?.parent else { continue }
      comment(
        "Put it below [resource.\(parent)], in a file with base_url = \(finding.baseURL.tomlString); infer --add FILE does."
      )
    }
  }

  /// All lists of one API were requested with the same headers.
  mutating func upstream(_ findings: [InferredDefinition]) {
    guard let first = findings.first else { return }
    table("upstream")
    line("base_url = \(first.baseURL.tomlString)", notes: findings.notes(.baseURL))
    line(findings.contains(where: \.isRebased) ? "links = \"rebase\"" : nil, notes: findings.notes(.links))
    let headers = first.headers.map { "\($0.name.tomlKey) = \($0.value.tomlString)" }.joined(separator: ", ")
    line(headers.isEmpty ? nil : "headers = { \(headers) }", notes: findings.notes(.headers))
    line(first.caFile.map { "tls = { ca_file = \($0.tomlString) }" })
    let auth = findings.notes(.auth)
    if !auth.isEmpty { lines.append("") }
    line(nil, notes: auth)
  }

  /// The lines of `upstream` other than base_url, as comments.
  mutating func upstreamHints(_ findings: [InferredDefinition]) {
    var upstream = DefinitionText()
    upstream.upstream(findings)
    let hints = upstream.lines.filter { !$0.isEmpty && $0 != "[upstream]" && !$0.hasPrefix("base_url = ") }
    if hints.isEmpty { return }
    comment("[upstream] of this file may need:")
    lines += hints.map { $0.hasPrefix("#") ? $0 : "# \($0)" }
  }

  mutating func definition(_ finding: InferredDefinition) {
    resource(finding)
    pages(finding)
    columns(finding)
    for list in finding.resource.lists { self.list(list, finding: finding) }
    for note in finding.notes(.children) {
      lines.append("")
      line(nil, notes: [note])
    }
  }

  mutating func resource(_ finding: InferredDefinition) {
    let resource = finding.resource
    table("resource.\(resource.name)")
    let usual = Resource(name: resource.name, path: "", columns: [])
    let needed = ["path", "records"] + (resource.isDetail ? [] : ["key"])
    let whole = resource.records.isWhole ? [resource.isDetail ? Note.wholeRecord : .wholeAnswer] : []
    for (name, place) in Self.keysOfResources where name != "key" || !resource.isDetail {
      lines(
        of: Resource.keys.first { $0.name == name }, in: resource, besides: needed.contains(name) ? nil : usual,
        notes: (place.map(finding.notes) ?? []) + (name == "records" ? whole : resource.remarks(on: name)))
    }
    for place in [Note.Place.condition, .search, .byKey, .since] { line(nil, notes: finding.notes(place)) }
    line(resource.each.map { "each = { of = \($0.parent.tomlString) }" }, notes: finding.notes(.each))
  }

  mutating func pages(_ finding: InferredDefinition) {
    let pages = finding.resource.pages
    table("resource.\(finding.resource.name).pages", notes: finding.notes(.pages))
    let kind = pages.style.kind
    var usual = Resource.Pages(Resource.Style(kind))
    if kind.step == .sends(.ofLastRecord) { usual.style.at = .body(finding.resource.key) }
    for (name, place) in Self.keysOfPages {
      lines(
        of: Resource.Pages.keys.first { $0.name == name }, in: pages,
        besides: name == "style" || name == "param" && ![nil, .path].contains(pages.style.param) ? nil : usual,
        notes: place.map(finding.notes) ?? [])
    }
    line(nil, notes: finding.notes(.beyond))
  }

  /// The keys of a draft in its order, with the place of the notes about each.
  private static let keysOfResources: [(String, Note.Place?)] = [
    ("path", .path), ("query", .query), ("method", .method), ("records", .records), ("expect", nil),
    ("no_records", .noRecords), ("list_of_one", nil), ("shape", nil), ("row_names", nil), ("key", .key),
    ("table", .table),
  ]
  private static let keysOfPages: [(String, Note.Place?)] = [
    ("style", .style), ("param", .param), ("first", .first), ("start", .start), ("at", .at), ("last", .last),
    ("size", .size), ("size_param", nil), ("more", .more), ("done", nil), ("count", .count),
    ("short", nil),
  ]

  /// The line of a key, and its notes. A key with the value of `usual` has no line, and neither has an omitted one.
  private mutating func lines<Table: Sendable>(
    of key: DefinitionKey<Table>?, in table: Table, besides usual: Table?, notes: [Note]
  ) {
    guard let key else { return }
    let item = key.write(table)
    let isOmitted = item == .string("") && usual != nil || item == usual.flatMap(key.write)
    line(isOmitted ? nil : item.map { "\(key.name) = \($0.toml)" }, notes: notes)
  }

  mutating func columns(_ finding: InferredDefinition) {
    table("resource.\(finding.resource.name).columns")
    line(nil, notes: finding.notes(.columns))
    for column in finding.resource.columns {
      line("\(column.name) = \(column.toml)", notes: finding.notes(.column(column.name)))
    }
  }

  mutating func list(_ list: Resource.List, finding: InferredDefinition) {
    let name = "resource.\(finding.resource.name).lists.\(list.table)"
    table(name)
    line("at = \(list.at.toml)", notes: finding.notes(.list(list.table)))
    let columns = list.columns.map { "\($0.name) = \($0.toml)" }
    let inline = "columns = { \(columns.joined(separator: ", ")) }"
    if inline.count <= Self.width {
      line(inline)
    } else {
      table("\(name).columns")
      for column in columns { line(column) }
    }
  }
}

extension Resource {
  /// The reason why the draft has a key whose value depends on the kind of server.
  fileprivate func remarks(on key: String) -> [Note] {
    switch key {
    case "no_records" where answers.noRecords.isAbsent:
      [.remark(.noRecords, text: "such servers leave out an empty list")]
    case "no_records" where answers.noRecords.isNull:
      [.remark(.noRecords, text: "empty lists inside the records are null")]
    case "list_of_one" where answers.isListOfOne: [.remark(.noRecords, text: "one record comes without a list")]
    default: []
    }
  }
}

extension Note {
  /// The comment on one line, since names of upstream's fields in it may contain any character.
  fileprivate var comment: String {
    isUnseen ? "not seen: \(text.printable)" : text.printable
  }

  fileprivate static var wholeRecord: Note { .remark(.records, text: "the answer itself is the record") }
  fileprivate static var wholeAnswer: Note { .remark(.records, text: "the answer itself is the list") }
}

extension Resource.Column {
  var toml: String {
    if type.isText, !isNullable { return at.toml }
    let null = isNullable ? ", null = true" : ""
    return "{ at = \(at.toml), type = \(type.rawValue.tomlString)\(null) }"
  }
}

extension JSONPointer {
  fileprivate var toml: String { description.tomlString }
}
