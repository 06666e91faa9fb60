/// A fault of one request or its answer. The caller knows the step, and makes a `Failure` of it.
package struct RequestFault: Error, Sendable, Equatable {
  /// Kind of the failure if no retry helps.
  package var kind: Failure.Kind
  /// The cause as a clause: "upstream answered 500".
  package var cause: String
  /// The remedy as an imperative; nil if nothing can be done.
  package var hint: String?
  /// The row of the retry table (P11); nil if a retry could not help.
  package var reason: Failure.Reason?
  /// Retry-After, or the reset time of a rate limit, counted from the answer. No request starts earlier.
  package var retryAfter: Duration?
  /// True if no byte of the request can have reached the server, because there was no connection.
  package var isUnsent = false
  /// True if a connection that had served a request before ended before the answer began. Upstream has probably closed
  /// it while it was idle.
  package var isOfKeptConnection = false
  /// True if the request was not sent because its access token expired before it had a connection.
  package var isOfOutlivedToken = false
  /// True if the request failed at the proxy, which the cause names.
  package var isOfProxy = false
  /// The trouble to explain, if neither `reason` nor `kind` determines it; else nil.
  package var trouble: Diagnosis.Kind?
  /// The header that revealed the fault.
  package var header: String?
  /// Number of body bytes received before the failure.
  package var received = 0

  /// The defaults are for a request that may have been sent, and got no answer.
  package init(
    _ kind: Failure.Kind, cause: String, hint: String? = nil, reason: Failure.Reason? = nil,
    retryAfter: Duration? = nil
  ) {
    self.kind = kind
    self.cause = cause
    self.hint = hint
    self.reason = reason
    self.retryAfter = retryAfter
  }

  /// The failure of the step that the request belonged to.
  /// - Parameters:
  ///   - step: An infinitive: "pull page 17".
  ///   - subject: The URL that was requested first. The target of a redirect is upstream's text, and may repeat a
  ///   secret (T9).
  package func failure(step: String, subject: String) -> Failure {
    var failure = Failure(
      kind, step: step, subject: subject, cause: cause, hint: hint, reason: reason, retryAfter: retryAfter)
    failure.trouble = trouble
    failure.concerned = header.map { [.header($0)] } ?? []
    return failure
  }

  /// The fault with a trouble.
  package func with(_ trouble: Diagnosis.Kind) -> RequestFault {
    var fault = self
    fault.trouble = trouble
    return fault
  }
}
