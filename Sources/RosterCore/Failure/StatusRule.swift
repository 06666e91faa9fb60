/// The consequences of a status with which upstream refuses a request. A new status needs a line in `init`.
package struct StatusRule: Sendable {
  /// Whether a refused request is sent again.
  package enum Repetition: Sendable {
    case never
    /// Without a delay, and only if no attempt was made before.
    case onceAtOnce
    case withBackoff
  }

  /// The diagnosis that explains the status.
  package let trouble: Diagnosis.Kind
  /// Whether a page request is sent again.
  package let pages: Repetition
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
      // Upstream refused to look at the request so early (RFC 8470 §5.2).
      case 425: Self(.serverError, pages: .onceAtOnce)
      case 429: Self(.badRequest, retriesTokens: true)
      // Upstream will not answer such a request at another time either.
      case 501, 505, 506, 508, 510, 511: Self(.serverError, retriesTokens: true)
      // An unknown status counts as the first one of its class (RFC 9110 §15), such as 520 of a proxy.
      case 408, 500...599: Self(.serverError, pages: .withBackoff, retriesTokens: true)
      case 400...499: Self(.badRequest)
      default: Self(.otherStatus)
      }
  }

  private init(_ trouble: Diagnosis.Kind, pages: Repetition = .never, retriesTokens: Bool = false) {
    self.trouble = trouble
    self.pages = pages
    self.retriesTokens = retriesTokens
  }

  /// True if the same request may be answered at another time.
  package var isPassing: Bool {
    switch pages {
    case .never: false
    case .onceAtOnce, .withBackoff: true
    }
  }
}
