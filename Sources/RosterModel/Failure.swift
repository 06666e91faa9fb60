/// Why something did not work: what was tried, on what, the cause, and what the user can do.
package struct Failure: Error, Sendable, Equatable {
  /// What sort of trouble it is: each has an exit code of its own.
  package enum Kind: Sendable, CaseIterable {
    case cancelled
    /// Of rosterctl only: no daemon answers on the socket.
    case noDaemon
    case usage, badAnswer, unreachable, defect, cannotWrite, owned, refused, configuration
  }

  /// What happened to a request: the label of `page.retried` and `rosterd_retries_total`, and the row of the retry
  /// table (P11).
  package enum Reason: Sendable, Equatable {
    case connection, dns, tls, timeout, truncated, malformed
    case tooLarge
    /// The server requires or refuses a client certificate (T15.4).
    case clientCertificate
    /// 429, or 403 where no permitted request remains.
    case rateLimit
    case status(Int)

    /// As events and metrics have it: `timeout`, `status_503`.
    package var label: String {
      switch self {
      case .connection: "connection"
      case .dns: "dns"
      case .tls: "tls"
      case .timeout: "timeout"
      case .truncated: "truncated"
      case .malformed: "malformed"
      case .tooLarge: "too_large"
      case .clientCertificate: "client_certificate"
      case .rateLimit: "rate_limit"
      case .status(let code): "status_\(code)"
      }
    }
  }

  /// What sort of trouble it is: the exit code.
  package var kind: Kind
  /// An infinitive: "pull page 17".
  package var step: String
  /// What it was tried on: a URL, a path.
  package var subject: String
  /// A clause: "upstream answered 500 (after 4 attempts)".
  package var cause: String
  /// An imperative, or nil where nothing can be done: "see whether upstream is healthy".
  package var hint: String?
  /// Set where a request failed.
  package var reason: Reason?
  /// Retry-After, or the reset of a rate limit: no request starts earlier, from the answer on.
  package var retryAfter: Duration?
  /// What is the matter, where neither `reason` nor `kind` says it well enough.
  package var trouble: Trouble.Kind?
  /// What to look at, beside the subject.
  package var concerned: [Concern] = []

  /// `reason` and `retryAfter` are for what a request came to.
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
