/// What goes into one column. Bytes are a slice of the body, or of the decoder's memory where the body has escapes or
/// white space in them: good until the decoder's next call of `next`, `nextRow` (those of a row) or `begin`.
package enum FieldValue {
  case null
  /// UTF-8; it may hold U+0000.
  case text(UnsafeBufferPointer<UInt8>)
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  /// A value of any kind as upstream wrote it, white space aside.
  case json(UnsafeBufferPointer<UInt8>)
}

/// A record that cannot be stored (P9). Good until the decoder's next call.
package struct RecordReject {
  /// Its place among the records of the body, from 0.
  package var position: Int
  /// nil where the record does not say.
  package var key: RecordKey?
  /// The record as upstream sent it.
  package var document: UnsafeBufferPointer<UInt8>
  let fault: RecordFault
  let plan: RecordPlan

  /// One clause for the operator: which field, what is wrong with it. Made when asked for.
  package var reason: String { fault.reason(in: plan) }
}
