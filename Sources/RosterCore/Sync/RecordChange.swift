/// The kind of change of a record, as in `changes.kind`.
package enum ChangeKind: String, Sendable, CaseIterable { case added, changed, removed }

/// A row of `changes`: one change of one record.
package struct RecordChange: Sendable, Equatable {
  /// Grows from change to change.
  package var id: Int64
  /// Id of the sync that made the change.
  package var sync: Int64
  /// The resource's name.
  package var resource: String
  /// The record id, as docs/CACHE.md defines it.
  package var record: Int64
  /// Its key as JSON: a number, a text, or a list of the parts of a composite key. nil if the resource is not
  /// pulled any more.
  package var key: String?
  /// The kind of change.
  package var kind: ChangeKind
  /// Time of the change, RFC 3339.
  package var at: String
  /// The record before the change as a JSON object; nil if it did not exist.
  package var before: String?
  /// The record after the change as a JSON object; nil if it does not exist any more.
  package var after: String?

  /// Makes a change without a key.
  package init(
    id: Int64, sync: Int64, resource: String, record: Int64, kind: ChangeKind, at: String, before: String?,
    after: String?
  ) {
    self.id = id
    self.sync = sync
    self.resource = resource
    self.record = record
    self.kind = kind
    self.at = at
    self.before = before
    self.after = after
  }
}
