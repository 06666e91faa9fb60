import RosterModel

extension Resource {
  /// TOML from which the definition can be read again, with defaults filled in.
  /// - Parameters:
  ///   - maxRemoval: `sync.max_removal`, which applies if the definition has no limit of its own.
  ///   - secret: the parameter that carries the token, if any. It is masked, like parameters with names of credentials.
  func rendered(maxRemoval: Int, secret: String?) -> String {
    var draft = ResourceDraft(self)
    draft.query = query.secretsMasked(besides: secret)
    draft.body = body.secretsMasked
    draft.since = draft.since.map { since in
      var since = since
      since.query = since.query?.secretsMasked(besides: secret)
      since.body = since.body?.secretsMasked
      return since
    }
    // Placeholders are kept: they are not secrets, and the path would be refused without them.
    draft.inline = inline?.map { record in
      // Masked keys would be equal, and keys are no secrets.
      let keys = keyPlaces.compactMap { record[$0] }
      return record.secretsMasked { keys.contains($0) }
    }
    let parts = (byKey?.keyParts ?? []).map { "{key.\($0)}" } + ParentColumn.all(in: byKey ?? "").map(\.placeholder)
    draft.byKey = byKey?.secretsMasked(besides: secret, keeping: ["{key}", "{keys}"] + parts)
    let name = "resource.\(name)"
    let meaningless = inline == nil ? (isDetail ? ["key"] : []) : ResourceDraft.keysOfRequests
    let keys = ResourceDraft.keys.filter { !meaningless.contains($0.name) }
    var lines = ["[\(name)]"] + Self.lines(keys, draft: draft)
    if self.maxRemoval == nil { lines.append("# max_removal: \(maxRemoval), as sync.max_removal has it") }
    if inline == nil {
      let foreign = draft.pages.style.foreignKeys
      lines +=
        ["", "[\(name).pages]"] + Self.lines(PagesDraft.keys.filter { !foreign.contains($0.name) }, draft: draft.pages)
    }
    lines += sinceLines(draft.since, below: name)
    if let each = draft.each { lines += ["", "[\(name).each]"] + Self.lines(EachDraft.keys, draft: each) }
    let key = isDetail ? [] : Set(keyColumns ?? [])
    lines += ["", "[\(name).columns]"]
    lines += columns.enumerated().map { "\($1.name) = \($1.toml(isKey: key.contains($0)))" }
    for list in lists {
      let columns = inlineTable(list.columns.map { ($0.name, $0.toml(isKey: false)) })
      lines +=
        ["", "[\(name).lists.\(list.table)]"]
        + Self.lines(ListDraft.keys, draft: ListDraft(at: list.at, isListOfOne: list.isListOfOne))
      lines += ["columns = \(columns)"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func sinceLines(_ draft: SinceDraft?, below name: String) -> [String] {
    guard let draft else { return [] }
    let foreign = draft.token == nil ? [] : SinceDraft.keysOfMarks + (draft.param == nil ? ["value"] : [])
    let keys = SinceDraft.keys.filter { !foreign.contains($0.name) }
    var lines = ["", "[\(name).since]"] + Self.lines(keys, draft: draft)
    if let pages = draft.pages {
      let foreign = pages.style.foreignKeys
      lines +=
        ["", "[\(name).since.pages]"] + Self.lines(PagesDraft.keys.filter { !foreign.contains($0.name) }, draft: pages)
    }
    return lines
  }

  private static func lines<Draft>(_ keys: [DefinitionKey<Draft>], draft: Draft) -> [String] {
    keys.compactMap { key in key.write(draft).map { "\(key.name) = \($0)" } }
  }
}

extension [Resource.Parameter] {
  /// The parameters with `***` for values of credentials.
  /// - Parameter secret: the parameter that carries the token, if any.
  fileprivate func secretsMasked(besides secret: String?) -> Self {
    map { parameter in
      let isSecret = parameter.name == secret || parameter.name.namesSecret
      return isSecret
        ? Resource.Parameter(parameter.name, .text((parameter.value.json.text ?? "").maskedText)) : parameter
    }
  }
}

extension Resource.Column {
  /// A text column that is '' if absent is written as its place only. An integer key has no `null`, because a key is
  /// never NULL.
  fileprivate func toml(isKey: Bool) -> String {
    if type.isText, !isNullable { return at.description.tomlString }
    let draft = ColumnDraft(at: at, type: type, isNullable: isKey && !type.isText && !isNullable ? nil : true)
    return inlineTable(ColumnDraft.keys.compactMap { key in key.write(draft).map { (key.name, $0) } })
  }
}
