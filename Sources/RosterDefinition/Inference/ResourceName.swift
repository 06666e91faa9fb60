import RosterCore

/// The names of a resource and of its table.
struct ResourceName {
  let resource: String
  let table: String

  /// The documented limit: `[a-z][a-z0-9_]{0,39}`.
  private static let longest = 40

  /// - Parameters:
  ///   - parent: the resource of `each.of`; nil for a resource without a parent.
  ///   - tail: the last segment of the address, if it is a word.
  ///   - isAddressGiven: true if a column of the parent has the whole address, whose segments may be values.
  init(noun: String?, _ list: RecordList, parent: String?, tail: String? = nil, isAddressGiven: Bool) {
    let isDetail = list.detail != nil
    let listed = list.at.segments.last { !Vocabulary.vagueNouns.contains($0.word) }
    let kinds = Set(list.records.map { $0["object"]?.text ?? "" })
    let word = noun ?? listed ?? (kinds.count == 1 ? kinds.first : nil) ?? ""
    let isUnknown = isAddressGiven || word.isEmpty
    let plain = Self.name(of: word)
    resource = String(
      Self.unlike(parent, plain, tail: tail, isDetail: isDetail, isUnknown: isUnknown).prefix(Self.longest))
    table = Self.table(of: resource)
  }

  /// The table of a resource.
  static func table(of resource: String) -> String {
    let plural = Noun.plural(String(resource.prefix(longest)))
    return ReservedNames.tables.contains(plural) ? "\(plural)_list" : plural
  }

  /// The name of one record of that kind.
  static func name(of word: String) -> String {
    let named = word.isEmpty ? "record" : Noun.singular(word.identifier)
    // The tables of its lists begin with the same name.
    let isReserved = ["sqlite_", ReservedNames.setAside].contains { "\(named)_".hasPrefix($0) }
    return isReserved ? "record_\(named)" : named
  }

  /// A child has another name than its parent: `order_item` for `/orders/5/items`.
  private static func unlike(
    _ parent: String?, _ name: String, tail: String?, isDetail: Bool, isUnknown: Bool
  ) -> String {
    guard let parent, name == parent || (isDetail && isUnknown) else { return name }
    if isDetail { return "\(parent)_detail" }
    let own = tail.map(Self.name) ?? parent
    return own == parent ? "child_\(name)" : "\(parent)_\(own)"
  }

  /// Names that its lists must not use: its own table, and those of the full-text index.
  var otherTables: UniqueNames {
    // In `changes`, the name of a list is its table's name without the resource's.
    let shown = ["first_sync", "changed_sync"].map { "\(resource)_\($0)" }
    return UniqueNames(
      reserved: ReservedNames.tables.union(ReservedNames.wordTables(of: table)).union(shown).union([table]))
  }

  /// The last segment, if it is a word: `items` of `/orders/{order.id}/items`.
  static func tail(ofPath path: String) -> String? {
    path.split(separator: "/").last.map { String($0.prefix { $0 != "." }) }.flatMap { isWord($0) ? $0 : nil }
  }

  /// The last segment that names a kind of record: `issues` of `/repos/octocat/hello/issues`. nil if no segment does.
  static func noun(ofPath path: String) -> String? {
    let segments = (path.splitPage?.path.split(separator: "/").dropLast() ?? path.split(separator: "/")).map {
      String($0.prefix { $0 != "." })
    }
    return segments.last { isWord($0) && !Vocabulary.vagueNouns.contains($0.word) }
  }

  private static func isWord(_ segment: String) -> Bool {
    (2...40).contains(segment.count) && !segment.contains { $0.isASCIIDigit || $0 == "%" || $0 == "{" }
  }
}
