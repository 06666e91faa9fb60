import RosterModel

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
    line("path = \(resource.path.tomlString)", notes: finding.notes(.path))
    let query = resource.query.map { "\($0.name.tomlKey) = \($0.value.toml)" }.joined(separator: ", ")
    line(query.isEmpty ? nil : "query = { \(query) }", notes: finding.notes(.query))
    line(nil, notes: finding.notes(.method))
    line(
      "records = \(resource.records.toml)",
      notes: finding.notes(.records)
        + (resource.records.isWhole ? [resource.isDetail ? .wholeRecord : .wholeAnswer] : []))
    line(AnswerSigns.line(resource.answers.expect))
    line(
      resource.answers.noRecords.isAbsent ? "no_records = [\"absent\"]  # such servers leave out an empty list" : nil,
      notes: finding.notes(.noRecords))
    line(resource.answers.isListOfOne ? "list_of_one = true  # one record comes without a list" : nil)
    line(resource.shape.isPlain ? nil : "shape = \(resource.shape.rawValue.tomlString)")
    line(resource.rowNames.isWhole ? nil : "row_names = \(resource.rowNames.toml)")
    let keys = resource.keyPlaces.map(\.toml)
    let key = keys.count == 1 ? keys[0] : "[\(keys.joined(separator: ", "))]"
    if !resource.isDetail { line("key = \(key)", notes: finding.notes(.key)) }
    line(resource.table == resource.name ? nil : "table = \(resource.table.tomlString)", notes: finding.notes(.table))
    for place in [Note.Place.condition, .search, .byKey, .since] { line(nil, notes: finding.notes(place)) }
    line(resource.each.map { "each = { of = \($0.parent.tomlString) }" }, notes: finding.notes(.each))
  }

  mutating func pages(_ finding: InferredDefinition) {
    let pages = finding.resource.pages
    table("resource.\(finding.resource.name).pages", notes: finding.notes(.pages))
    line("style = \(pages.style.name.tomlString)", notes: finding.notes(.style))
    for (place, key, value) in pages.style.keys(besides: finding.resource.key) {
      line("\(key) = \(value)", notes: finding.notes(place))
    }
    if let size = pages.size {
      line("size = \(size.records)", notes: finding.notes(.size))
      if let param = size.param { line("size_param = \(param.description.tomlString)") }
    } else {
      line(nil, notes: finding.notes(.size))
    }
    line(pages.more.map { "more = \($0.description.tomlString)" }, notes: finding.notes(.more))
    line(pages.count.map { "count = \($0.description.tomlString)" }, notes: finding.notes(.count))
    line(nil, notes: finding.notes(.beyond))
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

extension Note {
  /// The comment on one line, since names of upstream's fields in it may contain any character.
  fileprivate var comment: String {
    isUnseen ? "not seen: \(text.printable)" : text.printable
  }

  fileprivate static var wholeRecord: Note { .remark(.records, text: "the answer itself is the record") }
  fileprivate static var wholeAnswer: Note { .remark(.records, text: "the answer itself is the list") }
}

extension Resource.Style {
  /// The keys without a default, and those whose value differs from the default.
  fileprivate func keys(besides key: JSONPointer) -> [(Note.Place, String, String)] {
    switch self {
    case .number(let param, let first, let last):
      [(.param, "param", param.description.tomlString)] + (first == 1 ? [] : [(.first, "first", "\(first)")])
        + (last.map { [(.last, "last", $0.description.tomlString)] } ?? [])
    case .offset(let param, let first):
      [(.param, "param", param.description.tomlString)] + (first == 0 ? [] : [(.first, "first", "\(first)")])
    case .cursor(let param, let start, let at):
      [(.param, "param", param.description.tomlString)]
        + (start.map { [(.start, "start", $0.tomlString)] } ?? []) + [(.at, "at", at.description.tomlString)]
    case .next(let at): [(.at, "at", at.description.tomlString)]
    case .after(let param, let at):
      [(.param, "param", param.description.tomlString)] + (at == key ? [] : [(.at, "at", at.toml)])
    case .link, .one, .record: []
    }
  }
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
