import NIOCore
internal import RosterModel

/// A request that waits for news (RFC 6202 §2): nothing runs for it until readers see another snapshot, or its time is
/// over.
struct LongPoll {
  var request: StatusRequest
  var look: @Sendable () async -> Polled
  /// Of its end.
  var timer: Scheduled<Void>
  var isOver = false
  /// The answer without news, while it waits; nil: it is being made.
  var nothing: Response?
}
