/// A record that cannot be stored. It is valid until the decoder's next call.
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
