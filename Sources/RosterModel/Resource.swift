/// A kind of record that upstream lists, as `[resource.NAME]` defines it: where its pages are, what a record is, and
/// which tables it fills.
package struct Resource: Sendable, Equatable {
  /// `[a-z][a-z0-9_]{0,39}`.
  package var name: String
  /// Below base_url, with a leading `/`.
  package var path: String
  /// Sent with every page, in this order.
  package var query: [Parameter]
  package var method: Method
  /// The JSON of every POST; an object.
  package var body: JSONValue
  /// Where the list of records is in an answer.
  package var records: JSONPointer
  /// One of the columns is at the same place and says whether it is an integer or a text.
  package var key: JSONPointer
  package var table: String
  /// A record that one of them does not hold for is skipped.
  package var conditions: [Condition]
  /// Names of text columns; empty: no `<table>_fts`.
  package var search: [String]
  /// A path with `{key}` or `{keys}`; nil: nobody can be asked for by key.
  package var byKey: String?
  package var removal: Removal
  /// Percent of the records that one sync may remove; nil: `sync.max_removal`.
  package var maxRemoval: Int?
  package var pages: Pages
  package var columns: [Column]
  package var lists: [List]

  /// Defaults as the contract has them. `table`: nil means `name`; `removal`: nil means ask where `byKey` is given,
  /// else twice.
  package init(
    name: String, path: String, query: [Parameter] = [], method: Method = .get, body: JSONValue = .object([]),
    records: JSONPointer = JSONPointer(), key: JSONPointer = JSONPointer(segments: ["id"]), table: String? = nil,
    conditions: [Condition] = [], search: [String] = [], byKey: String? = nil, removal: Removal? = nil,
    maxRemoval: Int? = nil, pages: Pages = Pages(), columns: [Column], lists: [List] = []
  ) {
    self.name = name
    self.path = path
    self.query = query
    self.method = method
    self.body = body
    self.records = records
    self.key = key
    self.table = table ?? name
    self.conditions = conditions
    self.search = search
    self.byKey = byKey
    self.removal = removal ?? (byKey == nil ? .twice : .ask)
    self.maxRemoval = maxRemoval
    self.pages = pages
    self.columns = columns
    self.lists = lists
  }

  package enum Method: String, Sendable, CaseIterable {
    case get = "GET"
    case post = "POST"
  }

  /// What becomes of a record that a whole pull has missed (P8).
  package enum Removal: String, Sendable, CaseIterable { case ask, twice, never }

  package enum Scalar: Sendable, Equatable {
    case text(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
  }

  package struct Parameter: Sendable, Equatable {
    package var name: String
    package var value: Scalar

    package init(_ name: String, _ value: Scalar) {
      self.name = name
      self.value = value
    }
  }

  package struct Condition: Sendable, Equatable {
    package var at: JSONPointer
    package var test: Test

    package init(_ at: JSONPointer, _ test: Test) {
      self.at = at
      self.test = test
    }

    /// null is absent. Numbers are equal by value: 1, 1.0 and 1e0 are.
    package enum Test: Sendable, Equatable {
      case absent
      case present
      case equal(Scalar)
    }
  }

  package struct Column: Sendable, Equatable {
    package var name: String
    /// In a list's column `""` is the element itself.
    package var at: JSONPointer
    package var type: ColumnType
    /// Of text only: NULL instead of '' where absent or null. All other types are NULL then anyway.
    package var isNullable: Bool

    package init(_ name: String, at: JSONPointer, _ type: ColumnType = .text, isNullable: Bool = false) {
      self.name = name
      self.at = at
      self.type = type
      self.isNullable = isNullable
    }
  }

  package enum ColumnType: String, Sendable, CaseIterable { case text, integer, real, boolean, json }

  /// A list inside a record: a table of its own, a row an element.
  package struct List: Sendable, Equatable {
    package var table: String
    package var at: JSONPointer
    package var columns: [Column]

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
    columns.firstIndex { $0.at == key && ($0.type == .integer || $0.type == .text) }
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
