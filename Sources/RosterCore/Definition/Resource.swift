package import FoundationEssentials

/// A kind of record that upstream lists, as defined in `[resource.NAME]`: its pages, its records, and the tables that
/// it fills.
package struct Resource: Sendable, Equatable {
  /// The name, which matches `[a-z][a-z0-9_]{0,39}`.
  package var name: String
  /// Takes the place of `upstream.base_url`; nil without an own one.
  package var baseURL: String?
  /// The lists of its records, and the way in which their pages are read.
  package var listing: Listing
  /// How the records that changed are asked for; nil if every pull is whole.
  package var since: Since?
  /// The parent whose records have a list each; nil if the resource has one list.
  package var each: Each?
  /// Conditions on an answer, and the forms of an answer without records.
  package var answers = AnswerRules()
  /// The records themselves, if the definition has them: then nothing is requested.
  package var inline: [JSONValue]?
  /// The spans of time that are the records; nil without them.
  package var windows: Windows?
  /// Table of its records in the cache; by default the resource's name.
  package var table: String
  /// The conditions of `where`. A record that does not fulfil all of them is skipped.
  package var conditions: [Condition]
  /// Names of the text columns to index; without any there is no `<table>_fts`.
  package var search: [String]
  /// The question for single records; nil if upstream cannot be asked for them.
  package var keyQuestion: KeyQuestion?
  /// The place of the record or the list in an answer to `keyQuestion`; empty for the answer itself.
  package var byKeyRecords: JSONPointer
  /// Treatment of records that a complete pull does not contain.
  package var removal: Removal
  /// Maximum percentage of the records that one sync may remove; nil for `sync.max_removal`.
  package var maxRemoval: Int?
  /// Period in which each page that validators confirm is transferred once unconditionally; nil if never.
  package var auditEvery: Duration?
  /// Columns of `table` in the order of the definition.
  package var columns: [Column]
  /// Lists inside a record, each with a table of its own.
  package var lists: [List]

  /// The defaults are those of rosterd.toml(5). `table` nil means `name`. `removal` nil means `ask` if `byKey` is
  /// given,
  /// else `twice`.
  package init(
    name: String, path: String, query: [Parameter] = [], method: Method = .get, body: JSONValue = .object([]),
    records: JSONPointer = JSONPointer(), shape: Shape = .objects, rowNames: JSONPointer = JSONPointer(),
    key: JSONPointer = JSONPointer(segments: ["id"]), otherKeys: [JSONPointer] = [], table: String? = nil,
    conditions: [Condition] = [], search: [String] = [], byKey: String? = nil,
    byKeyRecords: JSONPointer = JSONPointer(),
    removal: Removal? = nil,
    maxRemoval: Int? = nil, auditEvery: Duration? = Self.usualAudit, pages: Pages = Pages(), columns: [Column],
    lists: [List] = [], since: Since? = nil, each: Each? = nil, inline: [JSONValue]? = nil
  ) {
    self.name = name
    listing = Listing(
      path: path, query: query, method: method, body: body, records: records, shape: shape, rowNames: rowNames,
      key: key,
      otherKeys: otherKeys, pages: pages)
    self.table = table ?? name
    self.conditions = conditions
    self.search = search
    keyQuestion = byKey.map { KeyQuestion(path: $0) }
    self.byKeyRecords = byKeyRecords
    self.removal = removal ?? Self.usualRemoval(byKey: byKey)
    self.maxRemoval = maxRemoval
    self.auditEvery = auditEvery
    self.columns = columns
    self.lists = lists
    self.since = since
    self.each = each
    self.inline = inline
  }

  /// The default of `removal`.
  package static func usualRemoval(byKey: String?) -> Removal { byKey == nil ? .twice : .ask }

  /// The default of `audit_every`.
  package static let usualAudit = Duration.seconds(86_400)

  /// Method of a page request.
  package enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
  }

  /// Treatment of a record that a complete pull does not contain.
  package enum Removal: String, Sendable, CaseIterable {
    case ask, twice, never

    /// True if `by_key` is asked for the record.
    package var asks: Bool { self == .ask }
    /// True if the record stays for ever.
    package var keeps: Bool { self == .never }
    /// True if the second whole pull in succession that lacks the record removes it.
    package var waits: Bool { self == .twice }
  }

  /// A simple value, as in TOML.
  package enum Scalar: Sendable {
    case text(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
  }

  /// A query parameter.
  package struct Parameter: Sendable {
    /// The name, not percent-encoded yet.
    package var name: String
    /// The value as the configuration writes it.
    package var value: Scalar

    /// Makes a parameter.
    package init(_ name: String, _ value: Scalar) {
      self.name = name
      self.value = value
    }
  }

  /// One entry of `where`.
  package struct Condition: Sendable, Equatable {
    /// Place of a value in the record.
    package var at: JSONPointer
    /// The test of that value.
    package var test: Test

    /// Makes a condition.
    package init(_ at: JSONPointer, _ test: Test) {
      self.at = at
      self.test = test
    }

    /// null counts as absent. Numbers are equal by value: 1, 1.0 and 1e0 are equal.
    package enum Test: Sendable, Equatable {
      case absent
      case present
      case equal(Scalar)
      /// Absent, or equal to none of these.
      case differs([Scalar])
    }
  }

  /// One column of a table, and the place of its value in a record.
  package struct Column: Sendable, Equatable {
    /// Name in SQL, where it is always quoted.
    package var name: String
    /// Place of the value. In a list's column `""` is the element itself.
    package var at: JSONPointer
    /// Type of the stored value.
    package var type: ColumnType
    /// For text columns: true to store NULL, false to store '' if the value is absent or null. Other types always store
    /// NULL then. In a part of a composite key, true allows such a value.
    package var isNullable: Bool
    /// Values that mean null, such as `""` or `"0000-00-00"`.
    package var nulls: [Scalar] = []

    /// The default is a text column that is never NULL.
    package init(
      _ name: String, at: JSONPointer, _ type: ColumnType = .text, isNullable: Bool = false, nulls: [Scalar] = []
    ) {
      self.name = name
      self.at = at
      self.type = type
      self.isNullable = isNullable || !nulls.isEmpty
      self.nulls = nulls
    }
  }

  /// A list inside a record: it has a table of its own, with one row per element.
  package struct List: Sendable, Equatable {
    /// Table of its elements in the cache.
    package var table: String
    /// Place of the list in the record.
    package var at: JSONPointer
    /// Columns of `table`, besides the record's key and the element's position.
    package var columns: [Column]
    /// True if one element in place of the list is a list of one (`list_of_one`).
    package var isListOfOne = false

    /// Makes a list.
    package init(table: String, at: JSONPointer, columns: [Column]) {
      self.table = table
      self.at = at
      self.columns = columns
    }

    /// True if a column is a member of the elements, and not the whole element: then the table has a column `extra`.
    package var hasExtra: Bool { columns.contains { !$0.at.isWhole } }
  }
}

extension Resource.Scalar: Equatable {
  /// True if both are of the same type and have the same value. Texts are compared byte by byte.
  package static func == (one: Resource.Scalar, other: Resource.Scalar) -> Bool {
    switch (one, other) {
    case (.text(let one), .text(let other)): one.utf8.elementsEqual(other.utf8)
    case (.integer(let one), .integer(let other)): one == other
    case (.real(let one), .real(let other)): one == other
    case (.boolean(let one), .boolean(let other)): one == other
    default: false
    }
  }
}

extension Resource.Parameter: Equatable {
  /// True if both have the same name, byte by byte, and the same value.
  package static func == (one: Resource.Parameter, other: Resource.Parameter) -> Bool {
    one.name.utf8.elementsEqual(other.name.utf8) && one.value == other.value
  }
}

extension Resource {
  /// `by_key`: the request for one record, or for several.
  package struct KeyQuestion: Sendable, Equatable {
    /// The path, with its query, and with `{key}` or `{keys}` unless the body has it.
    package var path: String
    /// GET or POST.
    package var method: Method
    /// The JSON of a POST.
    package var body: JSONValue

    /// A GET, unless given.
    package init(path: String, method: Method = .get, body: JSONValue = .object([])) {
      (self.path, self.method, self.body) = (path, method, body)
    }

    /// Everything that may name the key.
    package var text: String { ([path] + (method == .post ? body.texts : [])).joined(separator: "\n") }
  }

  /// The path of `keyQuestion`; nil without `by_key`. Setting it makes the question a GET.
  package var byKey: String? {
    get { keyQuestion?.path }
    set { keyQuestion = newValue.map { KeyQuestion(path: $0) } }
  }

  /// True if `by_key` finds a record of a child under whichever parent it is.
  package var hasMovingRecords: Bool {
    guard each != nil, let keyQuestion else { return false }
    return ParentColumn.all(in: keyQuestion.text).isEmpty
  }

  /// Index of the key's column; nil if the definition has no column for the key.
  package var keyColumn: Int? {
    keyColumn(at: key)
  }

  /// True if an answer for one key may be a list with that record. An empty list means that the key was not found.
  /// That is so if `by_key_records` leads into the answer, or if `by_key` has the key in its query.
  package var answersWithList: Bool {
    if !byKeyRecords.isWhole { return true }
    guard let question = keyQuestion else { return false }
    if question.method == .post, question.body.texts.contains(where: { $0.contains("{key") }) { return true }
    guard let query = question.path.firstIndex(of: "?") else { return false }
    return question.path[query...].contains("{key")
  }

  /// Every place of the key.
  package var keyPlaces: [JSONPointer] {
    get { listing.keyPlaces }
    set { listing.keyPlaces = newValue }
  }
  /// True if the key has several parts.
  package var hasCompositeKey: Bool { !otherKeys.isEmpty }
  /// The column of each part of the key; nil if a part has none.
  package var keyColumns: [Int]? {
    let columns = keyPlaces.compactMap(keyColumn)
    return columns.count == keyPlaces.count ? columns : nil
  }

  private func keyColumn(at place: JSONPointer) -> Int? {
    columns.firstIndex { $0.at == place && $0.type.isOfKeys }
  }
}

extension Resource {
  /// The name of a list in `changes`, and for people: its table's name without a leading `<resource>_`, unless a column
  /// has that name.
  package static func name(ofList table: String, in resource: String, columns: [String]) -> String {
    let prefix = resource + "_"
    let short = table.hasPrefix(prefix) ? String(table.dropFirst(prefix.count)) : table
    return short.isEmpty || short == "extra" || columns.contains(short) ? table : short
  }
}

extension Resource {
  /// True if nothing is requested, because the definition has the records.
  package var hasOwnRecords: Bool { inline != nil || windows != nil }

  /// The records of the definition; nil if they are requested.
  package func ownRecords(at now: Date) -> [JSONValue]? { inline ?? windows.map { $0.records(at: now) } }

  /// The column with the first bound of a window.
  package var windowColumn: String? { columns.first { $0.at == Windows.start }?.name }
}
