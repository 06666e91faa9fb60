/// Why a request has no answer.
struct ExchangeFailure: Error {
  var cause: any Error
  /// Body bytes that came.
  var received = 0
  /// No byte of the request was written (T5).
  var isUnsent: Bool
}

/// No whole answer by the deadline.
struct DeadlineExceeded: Error {}

/// The connection ended before an answer began.
struct ClosedWithoutAnswer: Error {}

/// The same of a connection that had served a request before: the server closed it while it was idle, and a GET
/// may be sent once more (RFC 9112 §9.3.1).
struct KeptConnectionEnded: Error {}

/// The connection ended in the middle of an answer: in its head or in its body.
struct CutOff: Error {}
