/// What a sync has pulled and not published, held against the snapshot.
package struct PendingPull: Sendable, Equatable {
  /// Which pulled it; nil: nothing is pending.
  package var sync: Int64?
  /// Its row; nil: it is gone.
  package var report: SyncRecord?
  /// All pages are there, so that who is missing is known.
  package var isWhole = false
  /// Why something of the file is left out, a clause; nil: nothing is.
  package var leftOut: String?
  /// In the order of the definitions; then those that are not pulled any more.
  package var resources: [PendingResource] = []

  /// Nothing is pending.
  package init() {}

  /// Records that publishing it would change.
  package var differences: Int { resources.reduce(0) { $0 + $1.differences } }
}

/// How many records of a resource publishing a pull would change.
package struct PendingResource: Sendable, Equatable {
  /// `Resource.name`.
  package var name: String
  /// Columns that tell one record from another, the key first.
  package var telling: [Resource.Column]
  /// The names of its columns and lists, as the JSON of its records has them.
  package var members: [String]
  /// Records of the snapshot.
  package var before = 0
  /// Records that the snapshot does not have.
  package var added = 0
  /// Records that it has otherwise.
  package var changed = 0
  /// Records that would go.
  package var removed = 0
  /// Records that this pull misses for the first time, and that stay (P8).
  package var absent = 0

  /// Without differences.
  package init(name: String, telling: [Resource.Column], members: [String]) {
    self.name = name
    self.telling = telling
    self.members = members
  }

  /// All of them.
  package var differences: Int { added + changed + removed }
}

/// A record that a pull misses for the first time and does not remove (P8).
package struct AbsentRecord: Sendable, Equatable {
  /// Its key as JSON: a number, or a text in quotes.
  package var key: String
  /// The record as `changes.before` would have it.
  package var record: String

  /// A record of the snapshot.
  package init(key: String, record: String) {
    self.key = key
    self.record = record
  }
}

/// What publishing a pull would do to one record.
package struct PendingRecord: Sendable, Equatable {
  /// What becomes of it.
  package var kind: ChangeKind
  /// Its key as JSON: a number, or a text in quotes.
  package var key: String
  /// Of a changed one: columns, fields of `extra` by their path (`extra.origin.dimension`), lists.
  package var fields: [String]
  /// As `changes.before`; nil: it is not there.
  package var before: String?
  /// As `changes.after`; nil: it will not be there.
  package var after: String?

  /// All of it.
  package init(kind: ChangeKind, key: String, fields: [String] = [], before: String? = nil, after: String? = nil) {
    self.kind = kind
    self.key = key
    self.fields = fields
    self.before = before
    self.after = after
  }
}
