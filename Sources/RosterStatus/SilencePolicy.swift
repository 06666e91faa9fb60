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
  private var hasAnswered = false

  /// Before anything was asked.
  package init(toldAfter: Duration, givenUpAfter: Duration?) {
    self.toldAfter = toldAfter
    self.givenUpAfter = givenUpAfter
  }

  /// - Parameter silence: since the last sign of life, or since the beginning.
  package mutating func failed(after silence: Duration) -> Verdict {
    if let givenUpAfter, silence >= givenUpAfter { return .giveUp }
    // A restart is sat out; a daemon that never was there is most often a mistake in the path.
    if givenUpAfter != nil, !hasAnswered, silence < toldAfter { return .giveUp }
    guard !isTold, silence >= toldAfter else { return .wait }
    isTold = true
    return .tell
  }

  /// A daemon showed that it is there.
  package mutating func answered() { (isTold, hasAnswered) = (false, true) }
}
