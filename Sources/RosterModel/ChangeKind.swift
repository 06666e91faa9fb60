/// What became of a record, as `changes.kind` has it.
package enum ChangeKind: String, Sendable, CaseIterable { case added, changed, removed }
