/// What is the matter with a sync, as it is explained: finer than an exit code, and kept over restarts.
package struct Trouble: Codable, Sendable, Equatable {
  /// What sort of trouble it is; the words are those of the file that keeps it.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    // The way to upstream.
    case connection, dns, tls, timeout, truncated, noNetwork, certificate, pin, clientCertificate, proxy
    // What upstream answers.
    case serverError, rateLimit, held, forbidden, notFound, notAcceptable, badRequest, otherStatus, redirect, malformed
    case totalAbsent, tooLarge
    case budget
    // Pages that make no list, and records that make no snapshot.
    case drift, circle, ignoredParameter, foreignLink, guarded, unstorable, rejects, unasked, wrongByKey, validators
    case absent
    // Who asks.
    case noCredential, credential, outlived, session, incomplete, tokenMalformed, tokenStatus, freshRefused, loggedOut
    case tokenUnreachable, missingCredential
    // This machine.
    case tokenStore, diskFull, disk, unwritable, locked, damaged, foreignFile, owned, pinned, configuration
    case refusedConfiguration, silent, defect, cancelled, usage, noDaemon, failedService
  }

  /// What sort of trouble it is.
  package var kind: Kind
  /// A clause: what was tried, on what, and why it failed.
  package var what: String
  /// An imperative, where the one that failed knew what can be done.
  package var hint: String?
  /// What to look at.
  package var concerned: [Concern]
  /// The first records that could not be stored, if the sync published nothing because of them; else nil.
  package var rejected: [RejectedRecord]?
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
