/// The reason why a request has no answer.
struct ExchangeFailure: Error {
  var cause: any Error
  /// Number of received bytes of the body.
  var received = 0
  /// True if no byte of the request was written (T5).
  var isUnsent: Bool
}
