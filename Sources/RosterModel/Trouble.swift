/// What is the matter with a sync, as it is explained: finer than an exit code, and kept over restarts.
package struct Trouble: Codable, Sendable, Equatable {
  /// What sort of trouble it is; the words are those of the file that keeps it.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    // The way to upstream.
    case connection, dns, tls, timeout, truncated, noNetwork, certificate, pin, proxy
    // What upstream answers.
    case serverError, rateLimit, held, forbidden, notFound, badRequest, otherStatus, redirect, malformed, tooLarge
    case budget
    // Pages that make no list, and records that make no snapshot.
    case drift, circle, foreignLink, guarded, unstorable, rejects, unasked, absent
    // Who asks.
    case noCredential, credential, outlived, session, incomplete, tokenMalformed, tokenStatus, freshRefused, loggedOut
    case tokenUnreachable, missingCredential
    // This machine.
    case tokenStore, diskFull, disk, unwritable, locked, damaged, foreignFile, owned, pinned, configuration
    case refusedConfiguration, silent, defect, cancelled, usage, noDaemon
  }

  /// What sort of trouble it is.
  package var kind: Kind
  /// A clause: what was tried, on what, and why it failed.
  package var what: String
  /// An imperative, where the one that failed knew what can be done.
  package var hint: String?
  /// What to look at.
  package var concerned: [Concern]
  /// The end of the first sync in a row that had trouble of this sort, RFC 3339.
  package var since: String?

  /// More records of one sort are not named one by one.
  package static let mostConcerned = 10

  /// - Parameter what: a clause.
  package init(_ kind: Kind, _ what: String, hint: String? = nil, _ concerned: [Concern] = []) {
    self.kind = kind
    self.what = what
    self.hint = hint
    self.concerned = concerned
  }

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

extension Trouble.Kind {
  /// One outage shows in several ways, and is one all the same: the first of each is what the others count as.
  package var family: Trouble.Kind {
    switch self {
    case .connection, .dns, .tls, .timeout, .truncated, .noNetwork, .serverError: .connection
    case .rateLimit, .held: .rateLimit
    case .certificate, .pin: .certificate
    case .session, .incomplete, .loggedOut: .session
    default: self
    }
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
    case .rateLimit: .rateLimit
    case .status(403): .forbidden
    case .status(404), .status(410): .notFound
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
