/// The reason why a request has no answer.
struct ExchangeFailure: Error {
  var cause: any Error
  /// Number of received bytes of the body.
  var received = 0
  /// True if no byte of the request was written (T5).
  var isUnsent: Bool
}

/// The answer was not complete at the deadline.
struct DeadlineExceeded: Error {}

/// The access token of a request expired before the request had a connection.
struct TokenOutlived: Error {}

/// The connection ended before an answer began.
struct ClosedWithoutAnswer: Error {}

/// A connection that had already served a request ended before an answer began. The server closed it while it was idle,
/// and a GET may be sent again (RFC 9112 §9.3.1).
struct KeptConnectionEnded: Error {}

/// The connection ended in the middle of an answer: in its head or in its body.
struct CutOff: Error {}
