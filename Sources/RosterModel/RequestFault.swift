/// What is wrong with one request or with its answer. The step is known to who asked: that one makes the `Failure`.
package struct RequestFault: Error, Sendable, Equatable {
  /// What sort of trouble it is where no other attempt helps.
  package var kind: Failure.Kind
  /// A clause: "upstream answered 500".
  package var cause: String
  /// An imperative, or nil where nothing can be done.
  package var hint: String?
  /// The row of the retry table (P11); nil: no attempt that follows would fare better.
  package var reason: Failure.Reason?
  /// Retry-After, or the reset of a rate limit: no request starts earlier, from the answer on.
  package var retryAfter: Duration?
  /// No byte of the request can have reached the server: there was no connection to send it on.
  package var isUnsent = false
  /// The connection had served a request before, and ended before an answer began: upstream closed it while it was
  /// idle, as far as anybody can know.
  package var isOfKeptConnection = false
  /// The way to upstream ended at the proxy, which the cause names.
  package var isOfProxy = false
  /// What is the matter, where neither `reason` nor `kind` says it well enough.
  package var trouble: Trouble.Kind?
  /// The header that said so.
  package var header: String?
  /// Body bytes of an answer that came before it failed.
  package var received = 0

  /// Of a request that may have been sent, without an answer.
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

  /// As it ends a step.
  /// - Parameters:
  ///   - step: an infinitive: "pull page 17".
  ///   - subject: the URL that was asked for first: where a redirect leads is upstream's text, and may repeat a secret
  ///     (T9).
  package func failure(step: String, subject: String) -> Failure {
    var failure = Failure(
      kind, step: step, subject: subject, cause: cause, hint: hint, reason: reason, retryAfter: retryAfter)
    failure.trouble = trouble
    failure.concerned = header.map { [.header($0)] } ?? []
    return failure
  }

  /// The same fault, which says what is the matter.
  package func with(_ trouble: Trouble.Kind) -> RequestFault {
    var fault = self
    fault.trouble = trouble
    return fault
  }
}
