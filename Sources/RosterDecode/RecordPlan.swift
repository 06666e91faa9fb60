package import RosterModel

/// A definition compiled once, for any number of bodies: which member leads to which column or list.
package struct RecordPlan: Sendable {
  package let resource: Resource
  /// The column that is the key.
  package let keyColumn: Int

  /// Else they are integers of 1…2^63-1.
  package var hasTextKeys: Bool { resource.columns[keyColumn].type == .text }

  /// Throws `Failure` (70) where the definition cannot be compiled: no columns, a key that is no column, or a place deeper than any
  /// record may nest. The configuration is read so that none of them comes here.
  package init(_ resource: Resource) throws(Failure) {
    fatalError("follows")
  }
}

/// Why a record cannot be stored.
enum RecordFault {
  case notAnObject

  func reason(in plan: RecordPlan) -> String { "" }
}
