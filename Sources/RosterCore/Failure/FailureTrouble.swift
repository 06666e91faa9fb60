// The troubles that explain a failure and the row of a sync.

extension Diagnosis {
  /// The trouble that explains a failure.
  package init(_ failure: Failure) {
    self.init(
      failure.trouble, "cannot \(failure.step) (\(failure.subject)): \(failure.cause)", hint: failure.hint,
      failure.concerned.isEmpty ? AffectedItem(subject: failure.subject).map { [$0] } ?? [] : failure.concerned)
  }

  /// The trouble that a row of `syncs` alone can show; nil if the sync had none.
  package init?(row: SyncRecord) {
    guard row.isDegraded else { return nil }
    let cause = row.error ?? "\(row.rejected) of its records could not be stored"
    let kind = row.exit.flatMap(Failure.Kind.init(rawValue:))?.trouble
    self.init(row.outcome == .failed ? kind ?? .defect : row.rejected > 0 ? .rejects : .unasked, cause)
    since = row.finishedAt
  }
}

extension SyncRecord {
  /// The trouble to explain, from the row alone if nothing more is known; nil if the sync had none.
  package var diagnosis: Diagnosis? { trouble ?? Diagnosis(row: self) }
}

extension Failure {
  /// The failure with a trouble and further items to look at.
  package func with(_ trouble: Diagnosis.Kind, _ concerned: [AffectedItem] = []) -> Failure {
    var failure = self
    failure.trouble = trouble
    failure.concerned += concerned
    return failure
  }
}

extension Failure.Kind {
  /// The trouble that explains this kind if nothing more precise is known.
  package var trouble: Diagnosis.Kind {
    switch self {
    case .cancelled: .cancelled
    case .noDaemon: .noDaemon
    case .usage: .usage
    case .badAnswer: .malformed
    case .unreachable: .connection
    case .defect: .defect
    case .cannotWrite: .unwritable
    case .owned: .owned
    case .refused: .credential
    case .configuration: .configuration
    }
  }
}
