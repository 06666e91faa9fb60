import Glibc

/// An error for the user: the failed step, its subject, the cause, and the remedy.
package struct Failure: Error, Sendable, Equatable {
  /// The kinds of failures. The raw value is the exit code of `rosterd sync` and `rosterctl`, and of `syncs.exit`
  /// (docs/COMMANDS.md). It is from sysexits.h if that has a suitable one.
  package enum Kind: Int32, Sendable, CaseIterable {
    case cancelled = 1
    /// No daemon answers on the socket. Only rosterctl has this kind.
    case noDaemon = 3
    case usage = 64
    case badAnswer = 65
    case unreachable = 69
    case defect = 70
    case cannotWrite = 73
    case owned = 75
    case refused = 77
    case configuration = 78

    /// The exit code.
    package var exitCode: Int32 { rawValue }
  }

  /// The fault of a request: the label of `page.retried` and `rosterd_retries_total`, and the row of the retry table.
  package enum Reason: Sendable, Equatable {
    case connection, dns, tls, timeout, truncated, malformed
    case tooLarge
    /// The answer calls itself partial or failed.
    case partialAnswer
    /// The server requires or refuses a client certificate.
    case clientCertificate
    /// 429, or 403 if no permitted request remains.
    case rateLimit
    case status(Int)

    /// The word in events and metrics: `timeout`, `status_503`.
    package var label: String { facts.label }
    /// The trouble that explains this fault.
    package var trouble: Diagnosis.Kind { facts.trouble }

    private var facts: (label: String, trouble: Diagnosis.Kind) {
      switch self {
      case .connection: ("connection", .connection)
      case .dns: ("dns", .dns)
      case .tls: ("tls", .tls)
      case .timeout: ("timeout", .timeout)
      case .truncated: ("truncated", .truncated)
      case .malformed: ("malformed", .malformed)
      case .tooLarge: ("too_large", .tooLarge)
      case .partialAnswer: ("partial_answer", .malformed)
      case .clientCertificate: ("client_certificate", .clientCertificate)
      case .rateLimit: ("rate_limit", .rateLimit)
      case .status(let code): ("status_\(code)", StatusRule(code).trouble)
      }
    }
  }

  /// Facts about the exchange of a failed request.
  package struct Exchange: Sendable, Equatable {
    /// True if no byte of the request can have reached the server, because there was no connection.
    package var isUnsent = false
    /// True if a connection that had served a request before ended before the answer began. Upstream has probably
    /// closed it while it was idle.
    package var isOfKeptConnection = false
    /// True if the request was not sent because its access token expired before it had a connection.
    package var isOfOutlivedToken = false
    /// True if the request failed at the proxy, which the cause names.
    package var isOfProxy = false
    /// Number of body bytes received before the failure.
    package var received = 0

    /// A request that may have been sent, and got no answer.
    package init() {}
  }

  /// Kind of the failure, which decides the exit code.
  package var kind: Kind
  /// The step as an infinitive: "pull page 17".
  package var step: String
  /// The subject of the step: a URL or a path. A failed request has no step and no subject before `ofStep` adds them.
  package var subject: String
  /// The cause as a clause: "upstream answered 500 (after 4 attempts)".
  package var cause: String
  /// The remedy as an imperative, "see whether upstream is healthy"; nil if nothing can be done.
  package var hint: String?
  /// The facts about a failed request whose step is not known yet; nil for a failure of a step. It is retried.
  package var exchange: Exchange?
  /// The fault of the request, which selects the row of the retry table; nil if a retry could not help.
  package var reason: Reason?
  /// Retry-After, or the reset time of a rate limit, counted from the answer. No request starts earlier.
  package var retryAfter: Duration?
  /// The part of `retryAfter` that upstream wants, in the answer before the token request that failed; else nil.
  package var pageRetryAfter: Duration?
  /// The trouble to explain. It follows from `reason`, or else from `kind`, unless the code that failed knows a more
  /// precise one.
  package var trouble: Diagnosis.Kind
  /// Items to look at, besides the subject.
  package var concerned: [AffectedItem] = []

  /// `reason` and `retryAfter` are for failed requests.
  package init(
    _ kind: Kind, step: String, subject: String, cause: String, hint: String? = nil,
    reason: Reason? = nil, retryAfter: Duration? = nil
  ) {
    self.kind = kind
    self.step = step
    self.subject = subject
    self.cause = cause
    self.hint = hint
    self.reason = reason
    self.retryAfter = retryAfter
    trouble = reason?.trouble ?? kind.trouble
  }

  /// The failure of a request or its answer. The caller knows the step, and adds it.
  package init(
    _ kind: Kind, cause: String, hint: String? = nil, reason: Reason? = nil, retryAfter: Duration? = nil
  ) {
    self.init(kind, step: "", subject: "", cause: cause, hint: hint, reason: reason, retryAfter: retryAfter)
    exchange = Exchange()
  }

  /// The failure of the step that the request belonged to.
  /// - Parameters:
  ///   - step: An infinitive: "pull page 17".
  ///   - subject: The URL that was requested first. The target of a redirect is upstream's text, and may repeat a
  ///   secret.
  package func ofStep(_ step: String, subject: String) -> Failure {
    var failure = self
    (failure.step, failure.subject, failure.exchange) = (step, subject, nil)
    return failure
  }
}

extension Failure: CustomStringConvertible {
  /// One sentence.
  package var description: String {
    let what = "cannot \(step) (\(subject)): \(cause)"
    return hint.map { "\(what); \($0)" } ?? what
  }
}

extension Failure {
  /// Advice for a user after a call on a file failed with this errno (errno(3)).
  package static func hint(for code: Int32, else hint: String) -> String {
    switch code {
    case ENOSPC, EDQUOT: "make room on the file system that holds it"
    case EROFS: "its file system is read-only: mount it for writing, or name a place on another"
    case EIO: "look at the disk and the kernel's log"
    default: hint
    }
  }
}

extension Diagnosis.Kind {
  /// The trouble after a call on a file failed with this errno (errno(3)).
  package init(errno code: Int32) {
    self = code == ENOSPC || code == EDQUOT ? .diskFull : code == EIO ? .disk : .unwritable
  }
}

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
