import RosterCore

extension WrittenDefinition {
  /// Rules of `[resource.NAME]`.
  static var rules: [KeyRule<WrittenDefinition>] { recordRules + keyRules + listRules }

  private static var recordRules: [KeyRule<WrittenDefinition>] {
    [
      .missing("path", beside: ["inline", "windows"], of: "F7.3", allowed: "a path below base_url that begins with /") {
        !$0.has("path") && !$0.resource.hasOwnRecords
      },
      .key("columns", of: "F7.3", "there are no columns", allowed: "one column at least") {
        $0.resource.columns.isEmpty
      },
      .each(["inline", "windows"], of: "F1.1") { definition in
        ["inline", "windows"].filter { definition.has($0) }.flatMap { own in
          definition.keysOfRequests.map {
            .init(of: $0, problem: "is beside \(own), which sends no request", allowed: "no \($0)")
          }
        }
      },
      .excludes("windows", "inline", of: "F1.6") { $0.has("inline") && $0.has("windows") },
      .needs("row_names", "shape = \"rows\"", of: "F1.1") {
        !$0.resource.shape.isRows && !$0.resource.rowNames.isWhole
      },
      .each(["search", "columns"], of: "F7.6", allowed: "names of text columns") { definition in
        definition.resource.search.compactMap { name in
          let column = definition.resource.columns.first { $0.name == name }
          guard let column else { return .init(problem: "\(name.tomlString) is no column") }
          return column.type.isText ? nil : .init(problem: "\(name.tomlString) is \(column.type.rawValue)")
        }
      },
      .each(["windows"], of: "F1.6", allowed: "a from in the past, for at most \(Windows.maxCount) windows") {
        switch $0.windowCount ?? 1 {
        case 0: [.init(entry: ["from"], problem: "is in the future")]
        case 1...Windows.maxCount: []
        case let count: [.init(entry: ["every"], problem: "these are \(count) windows until now")]
        }
      },
      .key("columns", beside: ["windows"], of: "F1.6", "no column is at \"/from\"", allowed: "a column at /from") {
        $0.resource.windows != nil && $0.resource.windowColumn == nil
      },
    ]
  }

  private static var keyRules: [KeyRule<WrittenDefinition>] {
    [
      .key("key", beside: ["each", "pages"], of: "F1.1", "a detail has the key of its parent") {
        $0.resource.isDetail && $0.has("key")
      },
      .each(["key", "columns"], of: "F1.2", allowed: "the place of a column of the type integer or text") {
        definition in
        let isLacking = !definition.resource.isDetail && !definition.resource.columns.isEmpty
        return isLacking ? definition.resource.keyPlaces.compactMap(definition.keyWithoutColumn) : []
      },
      .key("inline", beside: ["key"], of: "F1.1", allowed: "records with different keys") {
        $0.duplicateKey.map { "two records have the key \(TOMLItem(json: $0).toml)" }
      },
      .key("removal", beside: ["by_key"], of: "F7.7", "\"ask\" needs by_key", allowed: "twice, never, or a by_key") {
        $0.resource.removal.asks && $0.resource.byKey == nil
      },
      .needs("by_key_records", "by_key", of: "F1.1") { $0.resource.byKey == nil && !$0.resource.byKeyRecords.isWhole },
      .key("by_key", beside: ["pages", "each"], of: "F1.1", "a detail has no key: path asks for it alone") {
        $0.resource.isDetail && $0.resource.byKey != nil
      },
      .key(
        "by_key", beside: ["pages", "shape"], of: "F1.1", "its answers are lists, and the style \"record\" has none"
      ) {
        $0.resource.pages.style.kind.isRecord && $0.resource.byKey != nil && $0.resource.shape.readsLists
      },
      .key(
        "by_key", beside: ["key", "columns"], of: "F1.3", allowed: "{key} or {keys}; {key.COLUMN} of a composite key"
      ) { $0.problemOfByKey },
      .key(
        "pages.at", beside: ["pages.style"], of: "F1.3", "is missing, and the key has several places",
        allowed: "a JSON Pointer into a record"
      ) {
        $0.resource.hasCompositeKey && $0.resource.pages.style.kind.step == .sends(.ofLastRecord) && !$0.has("pages.at")
      },
    ]
  }

  private static var listRules: [KeyRule<WrittenDefinition>] {
    [
      .each(["lists.*.at"], of: "F7.3", allowed: "a JSON Pointer to a list of its own") { definition in
        let lists = definition.resource.lists
        return lists.enumerated().compactMap { index, list in
          if list.at.isWhole { return .init(entry: [list.table, "at"], problem: "is missing") }
          return lists[..<index].first { $0.at == list.at }.map { twin in
            .init(
              entry: [list.table, "at"], problem: "\(twin.table) is at \(list.at.description.tomlString) too")
          }
        }
      },
      .each(["lists.*.columns"], of: "F7.3", allowed: "one column at least") {
        $0.resource.lists.filter(\.columns.isEmpty).map {
          .init(entry: [$0.table, "columns"], problem: "there are no columns")
        }
      },
    ]
  }

  /// The keys about requests that the text gives.
  private var keysOfRequests: [String] {
    (Resource.keys.map(\.name) + Resource.tables).filter { Resource.keysOfRequests.contains($0) && has($0) }
  }

  /// The key that two records of `inline` share, as a value or the list of its parts; nil if all keys differ.
  private var duplicateKey: JSONValue? {
    var keys: Set<[UInt8]> = []
    let places = resource.keyPlaces
    let twice = resource.inline?.lazy.map { record in places.compactMap { record[$0] } }.first { values in
      values.count == places.count && !keys.insert(Array(TOMLItem(json: .list(values)).toml.utf8)).inserted
    }
    return twice.map { $0.count == 1 ? $0[0] : .list($0) }
  }

  private func keyWithoutColumn(_ key: JSONPointer) -> KeyRule<Self>.Violation? {
    let (there, place) = (resource.columns.filter { $0.at == key }, key.description.tomlString)
    if there.contains(where: \.type.isOfKeys) { return nil }
    let other = there.first.map { "the column \($0.name), which is at \(place), is \($0.type.rawValue)" }
    return .init(problem: other ?? "no column is at \(place)")
  }

  /// A composite key needs each of its columns in the path, a plain key needs `{key}` or `{keys}`.
  private var problemOfByKey: String? {
    guard let byKey = resource.keyQuestion?.text, !resource.isDetail else { return nil }
    let (parts, places) = (byKey.keyParts, resource.keyPlaces)
    if !resource.hasCompositeKey { return parts.first.map { "has {key.\($0)}, and the key is one value" } }
    if byKey.contains("{key}") || byKey.contains("{keys}") {
      return "has {key} or {keys}, and the key has \(places.count) places"
    }
    let names = places.compactMap { place in resource.columns.first { $0.at == place && $0.type.isOfKeys }?.name }
    if let missing = names.first(where: { !parts.contains($0) }) { return "lacks {key.\(missing)}" }
    return parts.first { !names.contains($0) }.map { "has {key.\($0)}, and \($0) is no column of the key" }
  }
}
