/// The kind of change of a record, as in `changes.kind`.
package enum ChangeKind: String, Sendable, CaseIterable { case added, changed, removed }
