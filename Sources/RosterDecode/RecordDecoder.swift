package import RosterJSON

/// Reads bodies by a plan: once in the pull (`scan`), once more in the publication (`begin`, `next`). Its memory is used again for each
/// body, so one belongs to one task. Does no I/O.
///
///     try decoder.begin(body, at: scan.recordsAt)
///     while let step = try decoder.next() {
///       switch step {
///       case .record: for column in 0..<columns { bind(decoder.column(column)) }
///       case .rejected: note(decoder.reject)
///       }
///     }
package struct RecordDecoder: ~Copyable {
  package let plan: RecordPlan

  package init(_ plan: RecordPlan) {
    self.plan = plan
  }

  // MARK: The pull

  /// Checks a page's whole body (RFC 8259, UTF-8) and finds what a pull needs of it, in one pass.
  ///
  /// Throws `Malformed` where it is no JSON, has no list of records where the definition says, or more than 100,000 records.
  package mutating func scan(page body: [UInt8]) throws(Malformed) -> PageScan {
    fatalError("follows")
  }

  /// The same for the answer of `by_key`, which is the record or the list itself. The places of `pages` are not looked for.
  package mutating func scan(answer body: [UInt8]) throws(Malformed) -> PageScan {
    fatalError("follows")
  }

  // MARK: The publication

  /// Goes to the records of a body that has been scanned: its UTF-8 and what is not among the records are not checked again. The
  /// bytes must stay where they are until the last call that reads them.
  ///
  /// - Parameter start: `PageScan.recordsAt`.
  package mutating func begin(_ body: UnsafeBufferPointer<UInt8>, at start: Int) throws(Malformed) {
    fatalError("follows")
  }

  package enum Step {
    /// `key`, `column`, `extra` and `openList` tell of it.
    case record
    /// `reject` tells of it.
    case rejected
  }

  /// The next record that `where` does not pass over, in the body's order; nil behind the last.
  package mutating func next() throws(Malformed) -> Step? {
    fatalError("follows")
  }

  /// Of the record at hand, among all of the body, from 0.
  package var position: Int { fatalError("follows") }

  package var key: RecordKey { fatalError("follows") }

  /// The value for `plan.resource.columns[index]`.
  package func column(_ index: Int) -> FieldValue {
    fatalError("follows")
  }

  /// A JSON object of the fields that no column or list takes, names in their order (P10); nil: there are none.
  package var extra: UnsafeBufferPointer<UInt8>? { fatalError("follows") }

  package var reject: RecordReject { fatalError("follows") }

  // MARK: The lists of a record

  /// Goes before the first element of `plan.resource.lists[index]`. May be called again, to go over it again.
  package mutating func openList(_ index: Int) {
    fatalError("follows")
  }

  /// False behind the last element of the list that was opened.
  package mutating func nextRow() -> Bool {
    fatalError("follows")
  }

  /// The value for `columns[index]` of the list that was opened.
  package func rowColumn(_ index: Int) -> FieldValue {
    fatalError("follows")
  }

  /// As `extra`, of the element; nil for an element that is no object.
  package var rowExtra: UnsafeBufferPointer<UInt8>? { fatalError("follows") }
}
