import FoundationEssentials
import Logging
import RosterModel

/// One step of the refresh: what the keeper has to wait for. Each ends in one event of the machine.
extension TokenKeeper {
  enum Step: Sendable {
    case send
    case coolDown(Duration)
    case store(Session)
    case keep(Session)
  }

  func perform(_ step: Step) async -> TokenMachine.Action {
    switch step {
    case .send: return await exchange()
    case .coolDown(let delay):
      try? await clock.sleep(delay)
      // Cut short: another session may be waiting to try again by now.
      return Task.isCancelled ? .ignore : machine.due()
    case .store(let session): return await save(session)
    case .keep(let session):
      await keep(session)
      return machine.stored(now: clock.now())
    }
  }

  private func exchange() async -> TokenMachine.Action {
    guard let grant = Grant(machine.settings.flow), case .refreshing(let number) = machine.phase else { return .ignore }
    var attempt = RefreshAttempt(
      settings: machine.settings, credentials: credentials, number: number,
      usedRefreshToken: machine.session.refreshToken != nil, followsUnanswered: machine.session.isUnanswered,
      now: clock.now(), random: random())
    let request = grant.request(attempt.settings, credentials, refreshToken: machine.session.refreshToken)
    do {
      let response = try await send(request)
      attempt.now = clock.now()
      return machine.refreshed(try grant.read(response, now: attempt.now), now: attempt.now)
    } catch let refusal as GrantRefusal {
      return failed(attempt.fault(refusal), attempt)
    } catch is CancellationError {
      // The transport was closed under it: `drain` has told what that may mean.
      return machine.refreshFailed(.other(.stopping), now: clock.now())
    } catch {
      attempt.now = clock.now()
      return failed(attempt.fault(error), attempt)
    }
  }

  private func failed(_ fault: RefreshFault, _ attempt: RefreshAttempt) -> TokenMachine.Action {
    let action = machine.refreshFailed(fault.fault, now: attempt.now)
    var delay: Duration?
    if case .coolDown(let pause) = action { delay = pause }
    tellFailure(fault.failure, reason: fault.label, attempt: attempt.number, delay: delay)
    return action
  }

  private func save(_ session: Session) async -> TokenMachine.Action {
    do {
      try await store.save(session)
    } catch {
      let failure = Failure.unstored(error, store.path)
      tellFailure(failure, reason: "other")
      return machine.storeFailed(failure, now: clock.now())
    }
    status.refreshes += 1
    status.lastRefreshAt = clock.now().rfc3339
    status.lastError = nil
    report(Event(.tokenRefreshed, page: Cause.page))
    logger.debug("got a new access token", metadata: ["expires": "\(session.access?.expiresAt?.rfc3339 ?? "unknown")"])
    return machine.stored(now: clock.now())
  }

  /// Its loss costs one request after a restart, no token.
  func keep(_ session: Session) async {
    do {
      try await store.save(session)
    } catch {
      logger.error("\(Failure.unkept(error, store.path))")
    }
  }

  private func tellFailure(_ failure: Failure, reason: String, attempt: Int? = nil, delay: Duration? = nil) {
    note(failure)
    report(
      Event(
        .tokenFailed, page: Cause.page, attempt: attempt, reason: reason, delaySeconds: delay?.seconds,
        error: failure.description))
  }
}
