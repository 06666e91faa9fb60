/// The problem of a sync for its explanation: more precise than an exit code, and kept across restarts.
package struct Diagnosis: Codable, Sendable, Equatable {
  /// The kinds of trouble. The file that stores a trouble uses the same words.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    // The way to upstream.
    case connection, dns, tls, timeout, truncated, noNetwork, certificate, pin, clientCertificate, proxy
    // The answers of upstream.
    case serverError, rateLimit, held, forbidden, notFound, notAcceptable, badRequest, otherStatus, redirect, malformed
    case totalAbsent, tooLarge
    case budget
    // Pages that do not form a list, and records that do not form a snapshot.
    case drift, circle, expiredPage, ignoredParameter, foreignLink, unseenNext, fullPage, shortPages, guarded,
      unstorable, rejects, partialAnswer, cutList, emptied, unasked, wrongByKey, unproven, validators
    case absent
    // Incremental pulls.
    case missed, postponed, ignoredSince, listReset
    // Lists of children.
    case missedLists, failedLists, vanishedLists
    // Credentials, tokens and sessions.
    case noCredential, credential, outlived, session, incomplete, tokenMalformed, tokenStatus, freshRefused, loggedOut
    case tokenUnreachable, missingCredential, expiringSession
    // This machine.
    case tokenStore, diskFull, disk, unwritable, locked, damaged, replaced, foreignFile, owned, pinned, configuration
    case refusedConfiguration, silent, defect, cancelled, usage, noDaemon, failedService
  }

  /// Kind of the trouble.
  package var kind: Kind
  /// A clause: the failed step, its subject, and the cause.
  package var what: String
  /// The remedy as an imperative; nil if the failed code knew none.
  package var hint: String?
  /// Items to look at.
  package var concerned: [AffectedItem]
  /// The first records that could not be stored, if the sync published nothing because of them; else nil.
  package var rejected: [RejectedRecord]?
  /// End of the first of the consecutive syncs with trouble of this family, RFC 3339.
  package var since: String?
  /// Further troubles of the same sync; nil without any.
  package var others: [Diagnosis]?

  /// Maximum number of records of one kind that are named individually.
  package static let maxConcerned = 10

  /// - Parameter what: a clause.
  package init(_ kind: Kind, _ what: String, hint: String? = nil, _ concerned: [AffectedItem] = []) {
    self.kind = kind
    self.what = what
    self.hint = hint
    self.concerned = concerned
  }
}

extension Diagnosis {
  /// Upstream lists old records although only those that changed were asked for.
  package static func ignoredSince(_ resource: String) -> Diagnosis {
    Diagnosis(
      .ignoredSince, "upstream lists records of \(resource) from long before the time that it was asked for",
      [.resource(resource)])
  }

  /// The session ends before the next sync, and no daemon renews it.
  package static func expiringSession(at end: String, next sync: String) -> Diagnosis {
    Diagnosis(
      .expiringSession, "the session ends at \(end), before the next sync (\(sync)), if nothing renews it",
      [.setting("sync.interval")])
  }

  /// A list has one full page, and nothing led to the next one.
  package static func unseenNext(_ resource: String, _ request: Request) -> Diagnosis {
    Diagnosis(
      .unseenNext, "page 1 of \(resource) is full, and its answer has no next value where the definition expects it",
      [request.concern(asPage: 1, of: resource), .resource(resource)])
  }

  /// A list with the style `one` has `size` records.
  package static func fullPage(_ resource: String, _ request: Request) -> Diagnosis {
    Diagnosis(
      .fullPage, "the only page of \(resource) is full, and style = \"one\" requests no other",
      [request.concern(asPage: 1, of: resource), .resource(resource)])
  }

  /// All pages of a list have fewer records than `size`, and upstream alone knows where the next one begins.
  /// - Parameter longest: The number of records on the longest page; nil if it is unknown.
  package static func shortPages(_ resource: String, size: Int, longest: Int?) -> Diagnosis {
    Diagnosis(
      .shortPages,
      "\(resource): upstream sends \(longest.map { "at most \($0)" } ?? "fewer") records on a page, and not size (\(size))",
      [.resource(resource)])
  }

  /// Upstream refused an incremental pull, and the same sync pulled the list whole.
  package static func listReset(_ resource: String, isTokenForgotten: Bool, status: Int) -> Diagnosis {
    Diagnosis(
      .listReset,
      isTokenForgotten
        ? "upstream has forgotten the delta token of \(resource) (\(status))"
        : "upstream refused an incremental pull of \(resource) (\(status))",
      [.resource(resource)])
  }
}

extension Diagnosis.Kind {
  /// One outage shows in several ways and still counts as one. The first kind of each group represents it.
  package var family: Diagnosis.Kind {
    switch self {
    case .connection, .dns, .tls, .timeout, .truncated, .noNetwork, .serverError: .connection
    case .rateLimit, .held: .rateLimit
    case .certificate, .pin: .certificate
    case .session, .incomplete, .loggedOut: .session
    default: self
    }
  }
}
