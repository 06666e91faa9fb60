import NIOCore
internal import RosterCore

/// A request that waits for news (RFC 6202 §2). No code runs for it until readers see another snapshot, or until its
/// time is over.
struct LongPoll {
  var request: StatusRequest
  var look: @Sendable () async -> Polled
  /// Ends the request when its time is over.
  var timer: Scheduled<Void>
  var isOver = false
  /// The answer without news while the request waits; nil while an answer is being made.
  var nothing: Response?
}
