/// An error for the user: the failed step, its subject, the cause, and the remedy.
package struct Failure: Error, Sendable, Equatable {
  /// The kinds of failures, each with an exit code of its own.
  package enum Kind: Sendable, CaseIterable {
    case cancelled
    /// No daemon answers on the socket. Only rosterctl has this kind.
    case noDaemon
    case usage, badAnswer, unreachable, defect, cannotWrite, owned, refused, configuration
  }

  /// The fault of a request: the label of `page.retried` and `rosterd_retries_total`, and the row of the retry table
  /// (P11).
  package enum Reason: Sendable, Equatable {
    case connection, dns, tls, timeout, truncated, malformed
    case tooLarge
    /// The answer calls itself partial or failed.
    case partialAnswer
    /// The server requires or refuses a client certificate (T15.4).
    case clientCertificate
    /// 429, or 403 if no permitted request remains.
    case rateLimit
    case status(Int)

    /// The word in events and metrics: `timeout`, `status_503`.
    package var label: String {
      switch self {
      case .connection: "connection"
      case .dns: "dns"
      case .tls: "tls"
      case .timeout: "timeout"
      case .truncated: "truncated"
      case .malformed: "malformed"
      case .tooLarge: "too_large"
      case .partialAnswer: "partial_answer"
      case .clientCertificate: "client_certificate"
      case .rateLimit: "rate_limit"
      case .status(let code): "status_\(code)"
      }
    }
  }

  /// Kind of the failure, which decides the exit code.
  package var kind: Kind
  /// The step as an infinitive: "pull page 17".
  package var step: String
  /// The subject of the step: a URL or a path.
  package var subject: String
  /// The cause as a clause: "upstream answered 500 (after 4 attempts)".
  package var cause: String
  /// The remedy as an imperative, "see whether upstream is healthy"; nil if nothing can be done.
  package var hint: String?
  /// The fault of the request; nil for other failures.
  package var reason: Reason?
  /// Retry-After, or the reset time of a rate limit, counted from the answer. No request starts earlier.
  package var retryAfter: Duration?
  /// The part of `retryAfter` that upstream wants, in the answer before the token request that failed; else nil.
  package var pageRetryAfter: Duration?
  /// The trouble to explain, if neither `reason` nor `kind` determines it; else nil.
  package var trouble: Diagnosis.Kind?
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
  }
}

extension Failure: CustomStringConvertible {
  /// One sentence.
  package var description: String {
    let what = "cannot \(step) (\(subject)): \(cause)"
    return hint.map { "\(what); \($0)" } ?? what
  }
}
