/// A kind of record that upstream lists, as `[resource.NAME]` defines it: where its pages are, what a record is, and
/// which tables it fills.
package struct Resource: Sendable, Equatable {
  /// `[a-z][a-z0-9_]{0,39}`.
  package var name: String
  /// Below base_url, with a leading `/`.
  package var path: String
  /// Sent with every page, in this order.
  package var query: [Parameter]
  /// How its pages are asked for.
  package var method: Method
  /// The JSON of every POST; an object.
  package var body: JSONValue
  /// Where the list of records is in an answer.
  package var records: JSONPointer
  /// What a record is there (R1).
  package var shape: Shape
  /// Where an answer has the names of the values of a row; empty if rows have no names (R1.4).
  package var rowNames: JSONPointer
  /// One of the columns is at the same place and says whether it is an integer or a text.
  package var key: JSONPointer
  /// The second and third place of a composite key (R2); empty if the key is one value.
  package var otherKeys: [JSONPointer]
  /// Of its records, in the cache: `name`, unless the definition says another.
  package var table: String
  /// A record that one of them does not hold for is skipped.
  package var conditions: [Condition]
  /// Names of text columns; empty: no `<table>_fts`.
  package var search: [String]
  /// A path with `{key}` or `{keys}`; nil: nobody can be asked for by key.
  package var byKey: String?
  /// Where an answer of `byKey` has the record or the list; empty for the answer itself.
  package var byKeyRecords: JSONPointer
  /// What becomes of a record that a whole pull has missed.
  package var removal: Removal
  /// Percent of the records that one sync may remove; nil: `sync.max_removal`.
  package var maxRemoval: Int?
  /// Period in which each page that validators confirm is transferred once unconditionally (P15); nil if never.
  package var auditEvery: Duration?
  /// How one page follows another.
  package var pages: Pages
  /// Of `table`, in the order in which the definition has them.
  package var columns: [Column]
  /// Lists inside a record, each with a table of its own.
  package var lists: [List]

  /// Defaults as the contract has them. `table`: nil means `name`; `removal`: nil means ask where `byKey` is given,
  /// else twice.
  package init(
    name: String, path: String, query: [Parameter] = [], method: Method = .get, body: JSONValue = .object([]),
    records: JSONPointer = JSONPointer(), shape: Shape = .objects, rowNames: JSONPointer = JSONPointer(),
    key: JSONPointer = JSONPointer(segments: ["id"]), otherKeys: [JSONPointer] = [], table: String? = nil,
    conditions: [Condition] = [], search: [String] = [], byKey: String? = nil, byKeyRecords: JSONPointer = JSONPointer(),
    removal: Removal? = nil,
    maxRemoval: Int? = nil, auditEvery: Duration? = Self.usualAudit, pages: Pages = Pages(), columns: [Column],
    lists: [List] = []
  ) {
    self.name = name
    self.path = path
    self.query = query
    self.method = method
    self.body = body
    self.records = records
    self.shape = shape
    self.rowNames = rowNames
    self.key = key
    self.otherKeys = otherKeys
    self.table = table ?? name
    self.conditions = conditions
    self.search = search
    self.byKey = byKey
    self.byKeyRecords = byKeyRecords
    self.removal = removal ?? (byKey == nil ? .twice : .ask)
    self.maxRemoval = maxRemoval
    self.auditEvery = auditEvery
    self.pages = pages
    self.columns = columns
    self.lists = lists
  }

  /// The default of `audit_every`.
  package static let usualAudit = Duration.seconds(86_400)

  /// Of a page request.
  package enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
  }

  /// What a record is in an answer (R1); each is read as an object.
  package enum Shape: String, Sendable, CaseIterable {
    case objects
    /// Elements of any kind; one that is not an object is `{"value": ELEMENT}`.
    case values
    /// Members of an object; the name of a member is `@key` of its record.
    case map
    /// Lists, whose values have names of their own or are called by their number.
    case rows

    /// The field that has a value that is not an object.
    package static let value = "value"
    /// The field that has the name of a member of a map.
    package static let memberName = "@key"
  }

  /// What becomes of a record that a whole pull has missed (P8).
  package enum Removal: String, Sendable, CaseIterable { case ask, twice, never }

  /// A value without parts, as TOML writes it.
  package enum Scalar: Sendable, Equatable {
    case text(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
  }

  /// One name and value of a query.
  package struct Parameter: Sendable, Equatable {
    /// Not yet percent-encoded.
    package var name: String
    /// As it is written in the configuration.
    package var value: Scalar

    /// A parameter of that name and value.
    package init(_ name: String, _ value: Scalar) {
      self.name = name
      self.value = value
    }
  }

  /// One entry of `where`.
  package struct Condition: Sendable, Equatable {
    /// Of a value in the record.
    package var at: JSONPointer
    /// What must be so of it.
    package var test: Test

    /// What must be so at that place.
    package init(_ at: JSONPointer, _ test: Test) {
      self.at = at
      self.test = test
    }

    /// null is absent. Numbers are equal by value: 1, 1.0 and 1e0 are.
    package enum Test: Sendable, Equatable {
      case absent
      case present
      case equal(Scalar)
      /// Absent, or equal to none of these (R4.1).
      case differs([Scalar])
    }
  }

  /// One column of a table, and the place in a record that fills it.
  package struct Column: Sendable, Equatable {
    /// In SQL, quoted wherever it stands.
    package var name: String
    /// In a list's column `""` is the element itself.
    package var at: JSONPointer
    /// What is stored of the value (P9).
    package var type: ColumnType
    /// Of text only: NULL instead of '' where absent or null. All other types are NULL then anyway.
    package var isNullable: Bool

    /// A text column that is never NULL, unless said otherwise.
    package init(_ name: String, at: JSONPointer, _ type: ColumnType = .text, isNullable: Bool = false) {
      self.name = name
      self.at = at
      self.type = type
      self.isNullable = isNullable
    }
  }

  /// What a value must be to be stored (P9); `json` takes any.
  package enum ColumnType: String, Sendable, CaseIterable { case text, integer, real, boolean, json }

  /// A list inside a record: a table of its own, a row an element.
  package struct List: Sendable, Equatable {
    /// Of its elements, in the cache.
    package var table: String
    /// In the record.
    package var at: JSONPointer
    /// Of `table`, beside the record's key and the element's position.
    package var columns: [Column]

    /// The list at that place of a record.
    package init(table: String, at: JSONPointer, columns: [Column]) {
      self.table = table
      self.at = at
      self.columns = columns
    }

    /// Elements with places in them, not only bare ones: their table has a column `extra`.
    package var hasExtra: Bool { columns.contains { !$0.at.isWhole } }
  }
}

extension Resource {
  /// The column that is the key; nil in a definition that has none there.
  package var keyColumn: Int? {
    keyColumn(at: key)
  }

  /// Every place of the key.
  package var keyPlaces: [JSONPointer] { [key] + otherKeys }
  /// True if the key has several parts.
  package var hasCompositeKey: Bool { !otherKeys.isEmpty }
  /// The column of each part of the key; nil if a part has none.
  package var keyColumns: [Int]? {
    let columns = keyPlaces.compactMap(keyColumn)
    return columns.count == keyPlaces.count ? columns : nil
  }

  private func keyColumn(at place: JSONPointer) -> Int? {
    columns.firstIndex { $0.at == place && ($0.type == .integer || $0.type == .text) }
  }
}

extension Resource {
  /// What a list is called in `changes` and where records are shown: its table's name without a leading `<resource>_`,
  /// unless a column has that.
  package static func name(ofList table: String, in resource: String, columns: [String]) -> String {
    let prefix = resource + "_"
    let short = table.hasPrefix(prefix) ? String(table.dropFirst(prefix.count)) : table
    return short.isEmpty || short == "extra" || columns.contains(short) ? table : short
  }
}
