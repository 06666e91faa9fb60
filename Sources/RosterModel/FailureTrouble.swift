// What a failure, and the row of a sync, are explained as.

extension Trouble {
  /// As the failure tells it.
  package init(_ failure: Failure) {
    self.init(
      failure.explained, "cannot \(failure.step) (\(failure.subject)): \(failure.cause)", hint: failure.hint,
      failure.concerned.isEmpty ? Concern(subject: failure.subject).map { [$0] } ?? [] : failure.concerned)
  }

  /// As a row of `syncs` alone tells it; nil: it had none.
  package init?(row: SyncRecord) {
    guard row.isDegraded else { return nil }
    let cause = row.error ?? "\(row.rejected) of its records could not be stored"
    let kind = row.exit.flatMap(Failure.Kind.init(exitCode:))?.trouble
    self.init(row.outcome == .failed ? kind ?? .defect : row.rejected > 0 ? .rejects : .unasked, cause)
    since = row.finishedAt
  }
}

extension Failure {
  /// What is the matter, as far as anybody knows: who failed, what became of the request, the exit code.
  package var explained: Trouble.Kind { trouble ?? reason?.trouble ?? kind.trouble }

  /// The same failure, which says what is the matter, and what to look at.
  package func with(_ trouble: Trouble.Kind, _ concerned: [Concern] = []) -> Failure {
    var failure = self
    failure.trouble = trouble
    failure.concerned += concerned
    return failure
  }
}

extension Failure.Reason {
  /// What it is explained as.
  package var trouble: Trouble.Kind {
    switch self {
    case .connection: .connection
    case .dns: .dns
    case .tls: .tls
    case .timeout: .timeout
    case .truncated: .truncated
    case .malformed: .malformed
    case .tooLarge: .tooLarge
    case .clientCertificate: .clientCertificate
    case .rateLimit: .rateLimit
    case .status(403): .forbidden
    case .status(404), .status(410): .notFound
    case .status(406): .notAcceptable
    case .status(408), .status(500...599): .serverError
    case .status(400...499): .badRequest
    case .status: .otherStatus
    }
  }
}

extension Failure.Kind {
  /// What it is explained as where nobody knows more.
  package var trouble: Trouble.Kind {
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
