import FoundationEssentials
import RosterModel

/// A token request that brought no token: for the machine, and as the event tells it.
struct RefreshFault: Sendable, Equatable {
  var fault: TokenMachine.Fault
  /// `reason` of `token.failed`.
  var label: String
  var failure: Failure
}

/// What is known when a token request has come to its end.
struct RefreshAttempt: Sendable {
  var settings: TokenSettings
  var credentials: Credentials
  /// 1 is the first.
  var number: Int
  var usedRefreshToken: Bool
  /// An earlier attempt had no answer (T5).
  var followsUnanswered: Bool
  var now: Date
  /// In 0..<1, for the jitter.
  var random: Double

  func fault(_ refusal: GrantRefusal) -> RefreshFault {
    switch refusal {
    case .refused(let status, let error): refused(status, error)
    case .incomplete(let field): incomplete(field)
    case .malformed: other(.malformedAnswer(settings), "malformed")
    case .other(let status): other(.otherAnswer(status, settings), "other")
    case .passing(let reason, let retryAfter): passing(reason, retryAfter)
    }
  }

  /// Without an answer. Whether it passes is told by the reason (T5).
  func fault(_ error: any Error) -> RefreshFault {
    guard let failure = error as? Failure else {
      return other(.sendDefect(error, settings), "other")
    }
    switch failure.reason {
    case .connection, .dns, .tls, .timeout, .truncated: return passing(failure.reason ?? .connection, nil)
    case .malformed, .tooLarge: return other(.malformedAnswer(settings), "malformed")
    case .status, nil: return other(failure, "other")
    }
  }

  private func passing(_ reason: Failure.Reason, _ retryAfter: Duration?) -> RefreshFault {
    let answered =
      switch reason {
      case .status, .dns: true
      case .connection, .tls, .timeout, .truncated, .malformed, .tooLarge: false
      }
    let failure = Failure.exhausted(
      reason, attempts: number, retryAfter: retryAfter,
      unanswered: usedRefreshToken && (followsUnanswered || !answered), settings)
    let delay = settings.retry.delay(afterAttempt: number, retryAfter: retryAfter, random: random)
    return RefreshFault(
      fault: .passing(failure, delay: delay, answered: answered), label: "passing", failure: failure)
  }

  private func refused(_ status: Int, _ error: String?) -> RefreshFault {
    let blamesClient = error == "invalid_client" || error == "unauthorized_client" || !usedRefreshToken
    let isClient = settings.flow.identifiesClient && blamesClient
    let what = isClient ? "the client" : "the refresh token"
    let rotated = followsUnanswered && usedRefreshToken ? "; \(Failure.mayHaveRotated)" : ""
    let answer = error.map { "\(status), \($0)" } ?? "\(status)"
    let ending = ending("upstream refuses \(what) (\(answer))\(rotated)", isClient ? .clientSecret : .refreshToken)
    return RefreshFault(fault: .refused(ending), label: "refused", failure: .ended(ending, settings))
  }

  private func incomplete(_ field: String) -> RefreshFault {
    let ending = ending(
      "upstream granted it, but \(field) is missing in the answer or cannot be sent in a header",
      settings.credential)
    return RefreshFault(fault: .incomplete(ending), label: "incomplete", failure: .ended(ending, settings))
  }

  private func ending(_ cause: String, _ file: CredentialFile) -> Session.Ending {
    Session.Ending(at: now, cause: cause, file: file.rawValue, tried: Session.tried(settings, credentials))
  }

  private func other(_ failure: Failure, _ label: String) -> RefreshFault {
    RefreshFault(fault: .other(failure), label: label, failure: failure)
  }
}
