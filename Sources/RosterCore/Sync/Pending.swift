/// The changes that a sync has pulled and not published, compared with the snapshot.
package struct PendingPull: Sendable, Equatable {
  /// Id of the sync that pulled them; nil if nothing is pending.
  package var sync: Int64?
  /// Row of that sync; nil if the row was removed.
  package var report: SyncRecord?
  /// True if all pages are there, so that the missing records are known.
  package var isWhole = false
  /// The resources in the order of the definitions, then those that are no longer pulled.
  package var resources: [PendingResource] = []

  /// Makes a pull with nothing pending.
  package init() {}

  /// Number of records that its publication would change.
  package var differences: Int { resources.reduce(0) { $0 + $1.differences } }

  /// Replaces the report by the end of the sync as the daemon knows it. If a full disk kept the end from being written,
  /// the row of the sync still says that it runs.
  package func settled(by syncs: DaemonStatus.Sync) -> PendingPull {
    guard let row = report, row.outcome == .running, syncs.current?.id != row.id else { return self }
    var pull = self
    pull.report?.outcome = .interrupted
    if let last = syncs.last, last.id == row.id { pull.report = last }
    return pull
  }
}

/// The number of records of a resource that the publication of a pull would change.
package struct PendingResource: Sendable, Equatable {
  /// The value of `Resource.name`.
  package var name: String
  /// The columns that identify a record for people, the key first.
  package var telling: [Resource.Column]
  /// Names of its columns and lists, as in the JSON of its records.
  package var members: [String]
  /// Name of its parent; nil without a parent.
  package var parent: String?
  /// True if its records are details, whose key is that of the parent.
  package var isDetail = false
  /// Number of records that the snapshot does not have.
  package var added = 0
  /// Number of records that differ from the snapshot.
  package var changed = 0
  /// Number of records that would be removed.
  package var removed = 0
  /// Number of records that are missing from a pull for the first time, and are kept.
  package var absent = 0

  /// Starts without differences.
  package init(name: String, telling: [Resource.Column], members: [String]) {
    self.name = name
    self.telling = telling
    self.members = members
  }

  /// Number of all differences.
  package var differences: Int { added + changed + removed }
}

/// A record that is missing from a pull for the first time, and is kept.
package struct AbsentRecord: Sendable, Equatable {
  /// Its key as JSON: a number, or a text in quotes.
  package var key: String
  /// JSON list of the keys of its ancestors, the outermost first; nil for a record without a parent.
  package var of: String?
  /// The record in the form of `changes.before`.
  package var record: String

  /// Makes a record of the snapshot.
  package init(key: String, of: String?, record: String) {
    self.key = key
    self.of = of
    self.record = record
  }
}

/// The change of one record that the publication of a pull would make.
package struct PendingRecord: Sendable, Equatable {
  /// The kind of change.
  package var kind: ChangeKind
  /// Its key as JSON: a number, or a text in quotes.
  package var key: String
  /// JSON list of the keys of its ancestors, the outermost first; nil for a record without a parent.
  package var of: String?
  /// True if it goes because its parent does.
  package var isWithParent = false
  /// The parts that differ, if the record is changed: columns, members of `extra` by their path
  /// (`extra.origin.dimension`), lists.
  package var fields: [String]
  /// The record in the form of `changes.before`; nil if it is added.
  package var before: String?
  /// The record in the form of `changes.after`; nil if it is removed.
  package var after: String?

  /// Makes a change.
  package init(
    kind: ChangeKind, key: String, of: String? = nil, fields: [String] = [], before: String? = nil,
    after: String? = nil
  ) {
    self.kind = kind
    self.key = key
    self.of = of
    self.fields = fields
    self.before = before
    self.after = after
  }
}
