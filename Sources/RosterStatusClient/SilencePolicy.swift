/// Decides how a client treats a daemon that does not answer.
package struct SilencePolicy: Sendable {
  /// The client's next step.
  package enum Verdict: Sendable, Equatable {
    case wait, tell, giveUp
  }

  /// Length of a silence after which it is reported once.
  package var toldAfter: Duration
  /// Length of a silence after which the client gives up; nil for never.
  package var givenUpAfter: Duration?
  private var isTold = false

  /// Starts without a silence.
  package init(toldAfter: Duration, givenUpAfter: Duration?) {
    self.toldAfter = toldAfter
    self.givenUpAfter = givenUpAfter
  }

  /// - Parameter silence: the time since the last sign of life, or since the start.
  package mutating func failed(after silence: Duration) -> Verdict {
    if let givenUpAfter, silence >= givenUpAfter { return .giveUp }
    guard !isTold, silence >= toldAfter else { return .wait }
    isTold = true
    return .tell
  }

  /// Ends the silence after a sign of life.
  package mutating func answered() { isTold = false }
}
