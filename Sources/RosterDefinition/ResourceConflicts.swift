import RosterModel

extension WrittenDefinition {
  @Rules<DefinitionConflict> var conflicts: [DefinitionConflict] {
    if !has("path"), !resource.hasOwnRecords {
      DefinitionConflict(
        path: ["path"], restsOn: [["path"], ["inline"], ["windows"]], problem: "is missing",
        allowed: "a path below base_url that begins with /")
    }
    if resource.columns.isEmpty {
      DefinitionConflict(
        path: ["columns"], restsOn: [["columns"]], problem: "there are no columns", allowed: "one column at least")
    }
    meaningless
    keyConflicts
    if !resource.shape.isRows, !resource.rowNames.isWhole {
      DefinitionConflict(
        path: ["row_names"], restsOn: [["shape"]], problem: "needs shape = \"rows\"",
        allowed: "shape = \"rows\" beside it")
    }
    if let twice = inlineTwice {
      DefinitionConflict(
        path: ["inline"], restsOn: [["inline"], ["key"]],
        problem: "two records have the key \(TOMLItem(json: twice).toml)",
        allowed: "records with different keys")
    }
    (resource.isDetail ? [] : resource.keyPlaces).compactMap(keyWithoutColumn)
    searchConflicts
    listConflicts
    pagesConflicts(resource.pages, below: ["pages"])
    bodyConflicts
    requestConflicts
    sinceConflicts
  }

  /// Mistakes of the requests of whole pulls, and of incremental ones. A key that `since` does not have is the
  /// resource's, so that a mistake there is one mistake.
  @Rules<DefinitionConflict> private var requestConflicts: [DefinitionConflict] {
    let whole = formConflicts(resource.listing) + pathConflicts(resource.listing)
    let changed = resource.since.map { formConflicts(incremental($0), $0.param) + pathConflicts($0.listing) } ?? []
    whole
    changed.map { $0.moved(written) }.filter { conflict in !whole.contains { $0.path == conflict.path } }
  }

  /// The incremental list. The names in `raw` of the resource need not be in another `query`.
  private func incremental(_ since: Since) -> Listing {
    var listing = since.listing
    if !has("since", "raw") { listing.raw = [] }
    return listing
  }

  /// The place of a key that `since` may have too.
  private func written(_ path: [String]) -> [String] {
    given.contains(["since", path[0]]) ? ["since"] + path : path
  }

  /// Mistakes of `format` and `raw` (F2.4).
  /// - Parameter start: The parameter of the start, in an incremental pull.
  @Rules<DefinitionConflict> private func formConflicts(
    _ listing: Listing, _ start: Resource.RequestPlace? = nil
  ) -> [DefinitionConflict] {
    if listing.format == .form, listing.method == .get {
      DefinitionConflict(
        path: ["format"], restsOn: [["method"]], problem: "is not used with GET", allowed: "method = \"POST\" beside it"
      )
    }
    let places = [
      (["pages", "param"], listing.pages.style.param), (["pages", "size_param"], listing.pages.sizeParam),
      (["since", "param"], start),
    ]
    for (path, place) in listing.format == .form ? places : [] {
      if case .body(let pointer)? = place, pointer.segments.count > 1 {
        DefinitionConflict(
          path: path, restsOn: [["format"]], problem: "a form has no nested table or list",
          allowed: "a place such as \"/page\"")
      }
    }
    if listing.format == .form, !listing.body.isFlat {
      DefinitionConflict(
        path: ["body"], restsOn: [["format"]], problem: "a form has no nested table or list",
        allowed: "texts, numbers and booleans with format = \"form\"")
    }
    for name in listing.raw where !listing.query.contains(where: { $0.name == name }) {
      if resource.since?.param != .query(name) {
        DefinitionConflict(
          path: ["raw"], restsOn: [["query"], ["since"]], problem: "\(name.tomlString) is no parameter of query",
          allowed: "names of parameters of query")
      }
    }
  }

  /// Mistakes of a page in `path` (F2.3).
  @Rules<DefinitionConflict> private func pathConflicts(_ listing: Listing) -> [DefinitionConflict] {
    let style = listing.pages.style
    if let placeholder = style.kind.placeholder {
      let count = listing.path.split(separator: placeholder, omittingEmptySubsequences: false).count - 1
      if count > 1 {
        DefinitionConflict(path: ["path"], restsOn: [["path"]], problem: "has \(placeholder) twice", allowed: "it once")
      }
      if count > 0, style.param != .path {
        DefinitionConflict(
          path: ["pages", "param"], restsOn: [["path"], ["pages"]], problem: "is beside \(placeholder) in path",
          allowed: "no param")
      }
      if style.param == .path, listing.pages.valueText != nil {
        DefinitionConflict(
          path: ["pages", "value"], restsOn: [["path"], ["pages"]], problem: "is beside \(placeholder) in path",
          allowed: "no value")
      }
      if style.param == .path, case .sends = style.kind.step, style.start == nil {
        DefinitionConflict(
          path: ["pages", "start"], restsOn: [["path"], ["pages"]],
          problem: "is missing: the first request has no \(placeholder) for path",
          allowed: "the value of the first page")
      }
    }
    for placeholder in Set(PageStyle.all.compactMap(\.placeholder)).sorted()
    where placeholder != style.kind.placeholder && listing.path.contains(placeholder) {
      DefinitionConflict(
        path: ["path"], restsOn: [["path"], ["pages"]],
        problem: "has \(placeholder), which the style \(style.kind.name.tomlString) does not fill",
        allowed: style.kind.placeholder ?? "a path without it")
    }
  }

  /// Conflicts of `by_key`, and of a key of several places.
  @Rules<DefinitionConflict> private var keyConflicts: [DefinitionConflict] {
    if resource.removal.asks, resource.byKey == nil {
      DefinitionConflict(
        path: ["removal"], restsOn: [["by_key"]], problem: "\"ask\" needs by_key", allowed: "twice, never, or a by_key")
    }
    let names = resource.keyPlaces.compactMap { place in
      resource.columns.first { $0.at == place && $0.type.isOfKeys }?.name
    }
    if let problem = problemOfByKey(names) {
      DefinitionConflict(
        path: ["by_key"], restsOn: [["by_key"], ["key"], ["columns"]], problem: problem,
        allowed: !resource.hasCompositeKey
          ? "a path with {key} or {keys}" : "a path with \(names.map { "{key.\($0)}" }.joined(separator: ", "))")
    }
    if resource.hasCompositeKey, resource.pages.style.kind.step == .sends(.ofLastRecord), !has("pages", "at") {
      DefinitionConflict(
        path: ["pages", "at"], restsOn: [["pages", "style"], ["pages", "at"]],
        problem: "the style \"after\" needs it beside a key of several places", allowed: "a JSON Pointer into a record")
    }
    if resource.byKey == nil, !resource.byKeyRecords.isWhole {
      DefinitionConflict(
        path: ["by_key_records"], restsOn: [["by_key"]], problem: "needs by_key", allowed: "a by_key beside it")
    }
  }

  /// A composite key needs each of its columns in the path, a plain key needs `{key}` or `{keys}` (F1.3).
  /// - Parameter names: The columns of the key.
  private func problemOfByKey(_ names: [String]) -> String? {
    guard let byKey = resource.keyQuestion?.text, !resource.isDetail else { return nil }
    let parts = byKey.keyParts
    if !resource.hasCompositeKey { return parts.first.map { "has {key.\($0)}, and the key is one value" } }
    if byKey.contains("{key}") || byKey.contains("{keys}") {
      return "has {key} or {keys}, and the key has \(resource.keyPlaces.count) places"
    }
    if let missing = names.first(where: { !parts.contains($0) }) { return "lacks {key.\(missing)}" }
    return parts.first { !names.contains($0) }.map { "has {key.\($0)}, and \($0) is no column of the key" }
  }

  /// The key that two records of `inline` share, as a value or the list of its parts (F1.1); nil if all keys differ.
  private var inlineTwice: JSONValue? {
    var keys: Set<[UInt8]> = []
    let places = resource.keyPlaces
    let twice = resource.inline?.lazy.map { record in places.compactMap { record[$0] } }.first { values in
      values.count == places.count && !keys.insert(Array(TOMLItem(json: .list(values)).toml.utf8)).inserted
    }
    return twice.map { $0.count == 1 ? $0[0] : .list($0) }
  }

  private func keyWithoutColumn(_ key: JSONPointer) -> DefinitionConflict? {
    guard !resource.columns.isEmpty else { return nil }
    let there = resource.columns.filter { $0.at == key }
    if there.contains(where: \.type.isOfKeys) { return nil }
    let problem =
      there.first.map { "the column \($0.name), which is at \(key.description.tomlString), is \($0.type.rawValue)" }
      ?? "no column is at \(key.description.tomlString)"
    return DefinitionConflict(
      path: ["key"], restsOn: [["key"], ["columns"]], problem: problem,
      allowed: "the place of a column of the type integer or text")
  }

  private var searchConflicts: [DefinitionConflict] {
    resource.search.compactMap { name in
      guard let column = resource.columns.first(where: { $0.name == name }) else { return (name, "is no column") }
      return column.type.isText ? nil : (name, "is \(column.type.rawValue)")
    }.map { (name: String, problem: String) in
      DefinitionConflict(
        path: ["search"], restsOn: [["columns"]], problem: "\(name.tomlString) \(problem)",
        allowed: "names of text columns")
    }
  }

  @Rules<DefinitionConflict> private var listConflicts: [DefinitionConflict] {
    for (index, list) in resource.lists.enumerated() {
      let path = ["lists", list.table]
      if list.at.isWhole {
        DefinitionConflict(
          path: path + ["at"], restsOn: [path + ["at"]], problem: "is missing", allowed: "a JSON Pointer to a list")
      } else if let other = resource.lists[..<index].first(where: { $0.at == list.at }) {
        DefinitionConflict(
          path: path + ["at"], problem: "\(other.table) is at \(list.at.description.tomlString) too",
          allowed: "a list of its own")
      }
      if list.columns.isEmpty {
        DefinitionConflict(
          path: path + ["columns"], restsOn: [path + ["columns"]], problem: "there are no columns",
          allowed: "one column at least")
      }
    }
  }

  /// Keys without a meaning beside `inline`, and the key of a detail (F1.1).
  @Rules<DefinitionConflict> private var meaningless: [DefinitionConflict] {
    for own in ["inline", "windows"] where has(own) {
      for name in (Resource.keys.map(\.name) + Resource.tables)
      where Resource.keysOfRequests.contains(name) && has(name) {
        DefinitionConflict(path: [name], problem: "is beside \(own), which sends no request", allowed: "no \(name)")
      }
    }
    if has("inline"), has("windows") {
      DefinitionConflict(path: ["windows"], problem: "is beside inline", allowed: "one of both")
    }
    if resource.isDetail, has("key") {
      DefinitionConflict(path: ["key"], problem: "a detail has the key of its parent", allowed: "no key")
    }
  }

  /// Conflicts about places in `body` that cannot be written to, in whole pulls and in incremental ones.
  @Rules<DefinitionConflict> private var bodyConflicts: [DefinitionConflict] {
    if resource.method == .get {
      resource.pages.conflictsWithGET(below: ["pages"], restsOn: [["method"]])
    } else {
      resource.pages.conflicts(in: resource.body, below: ["pages"])
    }
    if let since = resource.since { bodyConflicts(of: since) }
  }

  /// Conflicts of an incremental pull that a whole pull does not have.
  private func bodyConflicts(of since: Since) -> [DefinitionConflict] {
    let (table, hasPages) = (["since", "pages"], has("since", "pages"))
    guard since.listing.method == .get else {
      if !hasPages, !has("since", "body") { return [] }
      return since.listing.pages.conflicts(in: since.listing.body, below: hasPages ? table : ["pages"])
    }
    if !hasPages, resource.method == .get { return [] }
    return since.listing.pages.conflictsWithGET(below: table, restsOn: [["since", "method"], ["method"]])
  }
}

extension JSONValue {
  /// True for an object without an object or a list in it.
  fileprivate var isFlat: Bool {
    guard case .object(let members) = self else { return false }
    return members.allSatisfy { member in
      switch member.value {
      case .object, .list: false
      case .null, .boolean, .number, .text: true
      }
    }
  }
}
