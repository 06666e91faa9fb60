import FoundationEssentials
import Logging
import RosterCore
import Synchronization

/// One step of the refresh: what the keeper has to wait for. Each ends in one event of the machine.
extension TokenKeeper {
  enum Step: Sendable {
    case pause(Duration)
    case send(TokenMachine.Attempt)
    case store(Session)
    case keep(Session)
  }

  func perform(_ step: Step) async -> TokenMachine.Action {
    switch step {
    case .pause(let delay):
      if delay > .zero { try? await clock.sleep(delay) }
      // Cut short: another session may be waiting to try again by now.
      if Task.isCancelled { return .ignore }
      return stopRequested.load(ordering: .acquiring) ? machine.stopped() : machine.due(now: clock.moment)
    case .send(let attempt): return await exchange(attempt)
    case .store(let session): return await save(session)
    case .keep(let session):
      await keep(session)
      return machine.stored(now: clock.moment)
    }
  }

  private func exchange(_ decided: TokenMachine.Attempt) async -> TokenMachine.Action {
    var attempt = decided
    let credentials: Credentials
    do throws(Failure) { credentials = try asserting(&attempt.setup) } catch {
      return failed((.other(error), "other"), attempt: attempt)
    }
    let setup = attempt.setup
    if setup.settings.flow.signsToken, let assertion = credentials.assertion {
      return machine.refreshed(GrantAnswer(assertion, now: clock.now()))
    }
    guard let grant = Grant(setup.settings, session: attempt.session) else {
      return machine.refreshFailed(.other(.notRenewable(setup.settings)), now: clock.moment)
    }
    do throws(Failure) { try await noteUnanswered(attempt.stored) } catch {
      return failed((.other(error), "other"), attempt: attempt)
    }
    if stopRequested.load(ordering: .acquiring) {
      return machine.refreshFailed(.other(.stopping), now: clock.moment)
    }
    var request = grant.request(
      setup.settings, credentials: credentials, refreshToken: attempt.session.refreshToken,
      renewedAccess: attempt.session.renewedAccess)
    request.timeout = setup.settings.timeout
    var response: Response?
    do {
      let received = try await send(request)
      response = received
      let answer = try grant.read(received, now: clock.now())
      guard TokenStore.fits(attempt.session.granted(answer)) else { throw GrantRefusal.tooLarge }
      waitOfStored = answer.wait
      return machine.refreshed(answer)
    } catch is CancellationError {
      // The transport was closed meanwhile; `drain` has reported the possible loss.
      return machine.refreshFailed(.other(.stopping), now: clock.moment)
    } catch {
      let facts = RefreshAttempt(
        attempt, assertion: credentials.assertion, response: response, now: clock.now(), random: random())
      return failed(facts.fault(error), attempt: attempt)
    }
  }

  /// The credentials with a new assertion. A key may be replaced while a sync runs, so the file is read again. A file
  /// that cannot sign is not used.
  private func asserting(_ setup: inout TokenMachine.Setup) throws(Failure) -> Credentials {
    let (settings, now) = (setup.settings, clock.now())
    if settings.assertion != nil, let files = try? readCredentials(settings.credentialsDirectory) {
      let latest = setup.credentials.withKeys(of: files)
      if latest != setup.credentials, let credentials = try? latest.asserting(settings, now: now) {
        setup = TokenMachine.Setup(settings: settings, credentials: latest)
        return credentials
      }
    }
    return try setup.credentials.asserting(settings, now: now)
  }

  /// Notes in the store, before the request, that the refresh token may get used up: a killed process could not write
  /// it. If the note exists already, it only checks that the store can be written. A token whose successor could
  /// not be stored is not replaced.
  private func noteUnanswered(_ session: Session) async throws(Failure) {
    var noted = session
    do {
      if noted.noteUnanswered() {
        try await store.save(noted)
      } else if session.hasReplaceableToken {
        try await store.expectWritable(for: session)
      }
    } catch { throw .unnoted(error, path: store.path) }
  }

  private func failed(_ failed: RefreshAttempt.Fault, attempt: TokenMachine.Attempt) -> TokenMachine.Action {
    // Nothing else follows from it while a request is out.
    if stopRequested.load(ordering: .acquiring) { _ = machine.stopped() }
    let action = machine.refreshFailed(failed.fault, now: clock.moment)
    var delay: Duration?
    if case .coolDown(let pause) = action { delay = pause }
    tellFailure(
      failed.fault.failure(attempt.setup.settings), reason: failed.label, attempt: attempt.turn.number, delay: delay)
    return action
  }

  private func save(_ session: Session) async -> TokenMachine.Action {
    do {
      try await store.save(session)
    } catch {
      let failure = Failure.unstored(error, path: store.path)
      tellFailure(failure, reason: "other")
      return machine.storeFailed(failure, now: clock.moment)
    }
    if waitOfStored > .zero, !stopRequested.load(ordering: .acquiring) { try? await clock.sleep(waitOfStored) }
    waitOfStored = .zero
    status.refreshes += 1
    status.lastRefreshAt = clock.now().rfc3339
    status.lastError = nil
    report(Event(.tokenRefreshed).withPage)
    logger.debug("got a new access token", metadata: ["expires": "\(session.access?.expiresAt?.rfc3339 ?? "unknown")"])
    return machine.stored(now: clock.moment)
  }

  /// Its loss costs one request after a restart, no token.
  func keep(_ session: Session) async {
    do {
      try await store.save(session)
    } catch {
      logger.error("\(Failure.unkept(error, path: store.path))")
    }
  }

  private func tellFailure(_ failure: Failure, reason: String, attempt: Int? = nil, delay: Duration? = nil) {
    note(failure)
    report(
      Event(
        .tokenFailed, attempt: attempt, reason: reason, delaySeconds: delay?.seconds, error: failure.description
      ).withPage)
  }
}
