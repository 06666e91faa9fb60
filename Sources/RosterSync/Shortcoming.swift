package import FoundationEssentials
import RosterCache
package import RosterCore
package import RosterFetch

/// A reason why a published sync leaves the state degraded.
struct Shortcoming: Sendable {
  /// The sentence in the sync's row.
  var sentence: String
  /// The same for `explain`.
  var trouble: Diagnosis

  static func partial(_ answer: RejectedRecord) -> Shortcoming {
    let owner = answer.parent.map { " of \($0)" } ?? ""
    let what = "not all records of \(answer.resource)\(owner) were sent: \(answer.place): \(answer.reason)"
    return Shortcoming(sentence: what, trouble: Diagnosis(.partialAnswer, what, [.resource(answer.resource)]))
  }

  /// - Parameter first: The first rejected record of unknown key, by resource.
  static func rejects(
    _ number: Int, holdingBack held: [ResourceComparison], first: [String: RejectedRecord] = [:]
  ) -> Shortcoming {
    let named = held.prefix(3).map(\.resource).joined(separator: ", ")
    let more = held.count > 3 ? " and \((held.count - 3).counted(as: "more resource"))" : ""
    let unknown = held.reduce(0) { $0 + $1.rejectedUnknown }
    let consequence =
      held.isEmpty
      ? ""
      : "; no \(named)\(more) can be removed, because \(unknown) of them \(unknown == 1 ? "has" : "have") no known key"
    let what = "\(number.counted(as: "record")) could not be stored" + consequence
    let reason = held.lazy.compactMap { first[$0.resource] }.first.map {
      "; the first of \($0.resource) is \($0.place): \($0.reason)"
    }
    return Shortcoming(
      sentence: "\(what); rosterctl rejects shows why" + (reason ?? ""), trouble: Diagnosis(.rejects, what))
  }

  static func lie(_ resource: String, lie: ValidatorLie) -> Shortcoming {
    let what =
      "upstream gave the same \(lie.header.rawValue) again for other records of \(resource) on page \(lie.page) "
      + "(\(lie.request.shownURL))"
    return Shortcoming(
      sentence: "\(what), so \(resource) is synced without validators until `rosterctl sync --fresh`",
      trouble: Diagnosis(
        .validators, what,
        [lie.request.concern(asPage: lie.page, of: resource), .header(lie.header.rawValue), .resource(resource)]))
  }

  static func failedLists(
    _ resource: String, failed: Int, of requested: Int, examples: [FailedList]
  ) -> Shortcoming {
    let what = "\(failed) of \(requested.counted(as: "list")) of \(resource) failed"
    let first = examples.first.map { ": \($0.reason)" } ?? ""
    return Shortcoming(
      sentence: what + first,
      trouble: Diagnosis(.failedLists, what, [.resource(resource)] + examples.map(\.concern)))
  }

  static func doubtfulEnd(_ resource: String, missing: Int) -> Shortcoming {
    let what =
      "the last page of \(resource) is full, and upstream calls the page that it leads to past the end; "
      + "\(missing.counted(as: "record")) of the cache are on no page, and none is removed"
    var trouble = Diagnosis(.expiredPage, what, [.resource(resource)])
    trouble.hint =
      "if the records are gone, set by_key of [resource.\(resource)], so that upstream is asked for each; "
      + "if the list goes on, remove the status from beyond of its pages"
    return Shortcoming(sentence: what, trouble: trouble)
  }

  static func postponed(_ resource: String) -> Shortcoming {
    let what = "limit.budget has had no room for a whole pull of \(resource) for more than twice its whole_every"
    return Shortcoming(
      sentence: "\(what); only the records that changed were pulled",
      trouble: Diagnosis(.postponed, what, [.resource(resource), .setting("limit.budget")]))
  }

  /// - Parameters:
  ///   - isOfChanges: True for the keys of an incremental pull with `ask`, of which few are missing.
  ///   - keepsAll: True if no record of the resource is removed.
  static func unasked(_ resource: String, failure: Failure, isOfChanges: Bool, keepsAll: Bool) -> Shortcoming {
    let what = "not all \(isOfChanges ? "changed" : "missing") records of \(resource) could be asked for: "
    let effect = keepsAll ? "no \(resource) was removed, because" : "some \(resource) records stay, because"
    return Shortcoming(
      sentence: isOfChanges
        ? what + "\(failure)" : "\(effect) not all missing ones could be asked for: \(failure)",
      trouble: Diagnosis(
        .unasked, what + failure.cause, hint: failure.hint,
        [.resource(resource)] + Diagnosis(failure).concerned.filter { $0 != .resource(resource) }))
  }

  static func unproven(_ resource: String) -> Shortcoming {
    let what = "by_key does not find the missing records of \(resource), and no other record shows that by_key works"
    return Shortcoming(
      sentence:
        "no \(resource) was removed, because \(what); if they are gone, run `rosterctl sync --allow-removal`",
      trouble: Diagnosis(.unproven, what, [.resource(resource)]))
  }

  static func wrongByKey(_ resource: String, question: ControlQuestion) -> Shortcoming {
    let what = "by_key does not find a \(resource) that upstream lists (\(question.request.shownURL))"
    return Shortcoming(
      sentence: "no \(resource) was removed, because \(what); correct by_key of [resource.\(resource)]",
      trouble: Diagnosis(
        .wrongByKey, what,
        [.resource(resource), question.request.concern]
          + question.keys.map { .record($0, of: resource, reason: "by_key does not find it") }))
  }
}

/// A sync that is not started because `limit.budget` has no room for it. It is assumed to need as many requests as the
/// last one. A sync that is larger than the budget, or was interrupted by it, starts when the window is empty.
package struct Postponement: Sendable, Equatable {
  /// The time at which the budget has room.
  package var until: Date
  /// The failure for the caller that requested the sync (69).
  package var failure: Failure

  /// nil if the budget has room now.
  /// - Parameter requests: the requests of the last successful sync; nil if no sync has succeeded.
  package init?(_ ledger: BudgetLedger, requests: Int?, baseURL: String, clock: WallClock) {
    guard let wait = ledger.wait(for: requests), let usage = ledger.usage else { return nil }
    // One millisecond later, because times are shown and waited for in whole milliseconds.
    until = clock.now() + wait.seconds + 0.001
    let left = max(0, usage.rule.limit - usage.used)
    let wanted = requests.map { "\($0) that the last sync took" } ?? "that a sync takes"
    let rest =
      ledger.wasShort
      ? "of \(usage.rule.limit), all of which a sync needs after one that used it up" : "of those \(wanted)"
    failure = Failure(
      .unreachable, step: "start a sync", subject: baseURL,
      cause: "limit.budget (\(usage.rule.text)) has \(left.counted(as: "request")) left \(rest)",
      hint: "it will be started at \(until.rfc3339); `rosterd check` names the sync.interval that the budget holds")
  }
}
