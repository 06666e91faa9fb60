/// A table of the cache as another database keeps it: its columns and what makes its rows unique. It has no SQL of
/// either database.
package struct ReplicaTable: Sendable, Equatable {
  /// Type of a column in the other database.
  package enum ColumnType: String, Sendable {
    case bigint, text, boolean, jsonb
    case double = "double precision"
    case timestamp = "timestamptz"

    /// True for texts without a form of their own.
    var isText: Bool { self == .text }
  }

  /// One column.
  package struct Column: Sendable, Equatable {
    /// Not quoted.
    package var name: String
    /// Type of the values in the other database.
    package var type: ColumnType
    /// True if the cache has no NULL in it.
    package var isRequired: Bool

    /// A column of that name and type.
    package init(name: String, type: ColumnType, isRequired: Bool = false) {
      self.name = name
      self.type = type
      self.isRequired = isRequired
    }
  }

  /// Which rows change with a sync.
  package enum Role: Sendable, Equatable {
    /// Records of a resource. `changes` names those that changed by the primary key.
    case records(resource: String)
    /// Elements of the lists in a resource's records. They change with the record that `owner` points to.
    case elements(resource: String, records: String, owner: String)
    /// A small table that is compared as a whole.
    case whole
    /// Rows that are appended, and whose oldest ones expire, by the value of an increasing column of the key.
    case appended(by: String)
  }

  /// Not quoted.
  package var name: String
  /// Columns in the order of the cache.
  package var columns: [Column]
  /// Names of columns.
  package var primaryKey: [String]
  /// Other sets of columns whose values are unique.
  package var unique: [[String]]
  /// Which rows change with a sync.
  package var role: Role

  /// A table of these columns.
  package init(name: String, columns: [Column], primaryKey: [String], unique: [[String]] = [], role: Role) {
    self.name = name
    self.columns = columns
    self.primaryKey = primaryKey
    self.unique = unique
    self.role = role
  }

  /// Columns with a text that is part of a key.
  package var textKeys: [String] {
    let keys = Set(([primaryKey] + unique).joined())
    return columns.filter { $0.type.isText && keys.contains($0.name) }.map(\.name)
  }

  /// A text that differs if the table needs to be made in another way.
  package var signature: String {
    let parts = columns.map { "\($0.name) \($0.type.rawValue)\($0.isRequired ? " !" : "")" }
    return "\(name)(\(parts.joined(separator: ", "))) \(primaryKey) \(unique) \(role)"
  }
}

/// Rows of an appended table that `history` has not ended.
package struct KeptRows: Sendable, Equatable {
  /// The id of the first row that precedes no expired row; nil if there is no such row.
  package var first: Int64?
  /// Older ids that are kept, or that precede no expired row either.
  package var others: [Int64]

  /// These rows and the later ones.
  package init(first: Int64?, others: [Int64] = []) {
    self.first = first
    self.others = others
  }
}

/// Place in the feed of a cache up to which another database has its rows (docs/CACHE.md).
package struct ReplicaPosition: Sendable, Equatable {
  /// `cache_info.feed`.
  package var feed: String
  /// Largest `changes.id`; 0 if `changes` is empty.
  package var change: Int64
  /// `cache_info.snapshot`; 0 before the first publication.
  package var snapshot: Int64
  /// Id of the oldest sync that may still change, or of the next one.
  package var sync: Int64

  /// A place in that feed.
  package init(feed: String, change: Int64, snapshot: Int64, sync: Int64) {
    self.feed = feed
    self.change = change
    self.snapshot = snapshot
    self.sync = sync
  }

  /// True if readers at this place do not see all that readers at the other one saw.
  /// - Parameter newest: The place of the cache. Its feed is a later one than that of the other place.
  package func lacks(_ other: ReplicaPosition, newest: @autoclosure () throws -> ReplicaPosition) rethrows -> Bool {
    try feed == other.feed ? snapshot < other.snapshot : feed != newest().feed
  }
}
