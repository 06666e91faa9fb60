/// The value for one column. Its bytes are a slice of the body, or of the decoder's memory if the body has escapes or
/// white space in them. They are valid until the decoder's next call of `next`, of `nextRow` (for values of a list's
/// row) or of `begin`.
package enum FieldValue {
  case null
  /// UTF-8, which may contain U+0000.
  case text(UnsafeBufferPointer<UInt8>)
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  /// A value of any kind as upstream wrote it, without white space between its tokens.
  case json(UnsafeBufferPointer<UInt8>)
}

/// A record that cannot be stored (P9). It is valid until the decoder's next call.
package struct RecordReject {
  /// Position among the records of the body, counted from 0.
  package var position: Int
  /// nil if the record has no valid key.
  package var key: RecordKey?
  /// The record as upstream sent it.
  package var document: UnsafeBufferPointer<UInt8>
  let fault: RecordFault
  let plan: RecordPlan

  /// One clause for the operator: the field and its fault. The text is made on each call.
  package var reason: String { fault.reason(in: plan) }
}
