/// What becomes of one who follows a daemon that does not answer.
package struct SilencePolicy: Sendable {
  /// What to do now.
  package enum Verdict: Sendable, Equatable {
    case wait, tell, giveUp
  }

  /// A silence of this length is told, once.
  package var toldAfter: Duration
  /// nil: never.
  package var givenUpAfter: Duration?
  private var isTold = false

  /// Before anything was asked.
  package init(toldAfter: Duration, givenUpAfter: Duration?) {
    self.toldAfter = toldAfter
    self.givenUpAfter = givenUpAfter
  }

  /// - Parameter silence: since the last sign of life, or since the beginning.
  package mutating func failed(after silence: Duration) -> Verdict {
    if let givenUpAfter, silence >= givenUpAfter { return .giveUp }
    guard !isTold, silence >= toldAfter else { return .wait }
    isTold = true
    return .tell
  }

  /// A daemon showed that it is there.
  package mutating func answered() { isTold = false }
}
