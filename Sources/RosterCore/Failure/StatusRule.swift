/// The consequences of a status with which upstream refuses a request. A new status needs a line in `init`.
/// docs/ARCHITECTURE.md names the other lists of statuses.
package struct StatusRule: Sendable {
  /// The diagnosis that explains the status.
  package let trouble: Diagnosis.Kind
  /// True if a page request is sent again.
  package let retriesPages: Bool
  /// True if a token request is sent again.
  package let retriesTokens: Bool

  /// The rule for a status. Rate limits are recognised before, by their headers.
  package init(_ status: Int) {
    self =
      switch status {
      // A 401 that is not about the token is a lack of rights.
      case 401, 403: Self(.forbidden)
      // Upstream has not finished the answer (RFC 9110 §15.3.3).
      case 202: Self(.serverError)
      case 404, 410: Self(.notFound)
      case 406: Self(.notAcceptable)
      case 408, 500, 502, 503, 504: Self(.serverError, retriesPages: true, retriesTokens: true)
      case 429: Self(.badRequest, retriesTokens: true)
      case 500...599: Self(.serverError, retriesTokens: true)
      case 400...499: Self(.badRequest)
      default: Self(.otherStatus)
      }
  }

  private init(_ trouble: Diagnosis.Kind, retriesPages: Bool = false, retriesTokens: Bool = false) {
    self.trouble = trouble
    self.retriesPages = retriesPages
    self.retriesTokens = retriesTokens
  }

  /// The kind, and thereby the exit code, of a sync that fails with the status on a page.
  package var kind: Failure.Kind { retriesPages ? .unreachable : .badAnswer }
}
