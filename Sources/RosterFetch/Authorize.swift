package import RosterAuth
package import RosterCore
import RosterDecode

extension Interceptor {
  /// Sends the token to the origins that the file names, and to no other. The keeper decides about each answer
  /// that refuses the token. Either the request is sent again with the current or a fresh token, or its answer
  /// counts.
  /// - Parameters:
  ///   - others: the addresses of resources that have one of their own.
  ///   - logout: statuses that end the session at once.
  ///   - expired: answers that refuse the token, beside a 401.
  ///   - pacer: gives each request its turn; nil without `limit.rate`.
  package static func authorize(
    _ keeper: TokenKeeper, baseURL: String, others: [String] = [], logout: Set<Int> = [],
    expired: ExpiredAnswers = ExpiredAnswers(),
    pacer: RequestPacer? = nil
  ) -> Interceptor {
    let below = "\(baseURL)/"
    let homes = Set(([baseURL] + others).compactMap { Origin(url: $0) })
    return Interceptor { request, next in
      guard request.url.hasPrefix(below) || Origin(url: request.url).map(homes.contains) == true else {
        try await pacer?.turn()
        var response = try await next(request)
        response.secrets = await keeper.secrets
        return response
      }
      var sending = AuthorizedSending(
        request: request, keeper: keeper, logout: logout, expired: expired, pacer: pacer, next: next)
      return try await sending.response()
    }
  }
}

/// One request with its tokens, until an answer counts.
private struct AuthorizedSending {
  let request: Request
  let keeper: TokenKeeper
  let logout: Set<Int>
  let expired: ExpiredAnswers
  let pacer: RequestPacer?
  let next: Send
  var token: Token?
  var isFresh = false
  /// The trial of a brand-new token that this request makes; nil for others.
  var trial: Int?
  var wasOutlived = false

  mutating func response() async throws -> Response {
    token = try await keeper.token(inTurnOf: pacer)
    do {
      while true {
        if let response = try await attempt() { return response }
      }
    } catch {
      if let trial { await keeper.trialEnded(trial) }
      throw error
    }
  }

  /// nil if the request must be sent again.
  private mutating func attempt() async throws -> Response? {
    guard var response = try await sent() else { return nil }
    if logout.contains(response.status), !response.isSpent {
      throw await keeper.endSession(status: response.status, generation: token?.generation)
        .after(response, to: request, clock: pacer?.clock)
    }
    response.token = token?.sent
    response.secrets = await keeper.secrets
    guard let refusal = refusal(response) else {
      await settle(response, of: request)
      return response
    }
    do {
      switch try await keeper.rejected(refusal) {
      case .resend(let token, let isFresh, let trial):
        (self.token, self.isFresh, self.trial) = (token, isFresh, trial)
        if trial != nil {
          try await pacer?.turn()
        } else if pacer != nil {
          self.token = try await keeper.token(inTurnOf: pacer)
        }
        return nil
      case .verify(let witness, let trial):
        self.trial = trial
        try await verify(by: witness, refusal: refusal)
        return response
      case .accept: return response
      }
    } catch let failure as Failure where failure.exchange == nil {
      throw failure.comparingClocks(of: response, token: token, now: (pacer?.clock ?? .system).now())
        .after(response, to: request, clock: pacer?.clock).proposingFlow(response)
    }
  }

  /// nil if the token expired before the request had a connection, which is open now, and kept for the next attempt.
  private mutating func sent() async throws -> Response? {
    do { return try await next(request.carrying(token, of: keeper)) } catch let fault as Failure
      where fault.exchange?.isOfOutlivedToken == true && !wasOutlived
    {
      wasOutlived = true
      token = try await keeper.token(inTurnOf: pacer)
      return nil
    }
  }

  /// Repeats a request that had succeeded, with the refused token. If its answer shows that the token works, the
  /// refusals of the list are not about the token. Throws the failure of the sync if the token is refused again.
  private mutating func verify(by witness: Request, refusal: TokenRefusal) async throws {
    try await pacer?.turn()
    let response = try await next(witness.carrying(token, of: keeper))
    if let again = self.refusal(response) {
      _ = try await keeper.rejected(again)
      return
    }
    if response.showsThatTokenWorks { await keeper.blame(refusal.list) }
    await settle(response, of: witness)
  }

  /// Tells the keeper what an answer other than a refusal says about the token.
  private mutating func settle(_ response: Response, of request: Request) async {
    if response.showsThatTokenWorks { await keeper.accepted(token?.generation, by: request) }
    if let trial { await keeper.trialEnded(trial) }
    trial = nil
  }

  /// nil if the answer is not about the token. `insufficient_scope` is about rights (RFC 6750 §3.1).
  private func refusal(_ response: Response) -> TokenRefusal? {
    let error = response.challengeError
    if error == "insufficient_scope" || response.isSpent { return nil }
    let key = token == nil ? nil : expired.key(for: response)
    let isRefused = response.status == 401 || (token != nil && error == "invalid_token" && response.status >= 300)
    guard isRefused || key != nil else { return nil }
    var refusal = TokenRefusal(
      generation: token?.generation, status: response.status, key: isRefused ? nil : key, list: request.listName)
    (refusal.isFresh, refusal.trial) = (isFresh, trial)
    return refusal
  }
}

extension ExpiredAnswers {
  /// The key that calls this answer expired; nil if none does.
  fileprivate func key(for response: Response) -> String? {
    guard (200...299).contains(response.status) else {
      return statuses.contains(response.status) ? "auth.expired.status" : nil
    }
    guard !conditions.isEmpty, let answer = try? JSONValue(json: response.body),
      conditions.allSatisfy({ $0.isMet(by: answer) })
    else { return nil }
    return "auth.expired.where"
  }
}

extension Request {
  /// The list of the request: its resource, and for the lists of a child also the path.
  fileprivate var listName: String {
    let resource = RequestContext.current.resource ?? ""
    return keylessURL == nil ? resource : "\(resource) \(url.prefix { $0 != "?" })"
  }
}

extension TokenKeeper {
  /// The token to send when it is the request's turn. The token is read after the wait for the turn, which may outlive
  /// a token. If reading took long, because of a refresh, the request waits for another turn.
  fileprivate nonisolated func token(inTurnOf pacer: RequestPacer?) async throws -> Token? {
    guard let pacer else { return try await current() }
    while true {
      try await pacer.turn()
      let began = pacer.clock.uptime()
      let token = try await current()
      if pacer.clock.uptime() - began < maxStep { return token }
    }
  }
}

/// If reading the token takes longer than this, the token was refreshed meanwhile. The request then waits for another
/// turn. Reading an existing token takes less, and a request to the token's server takes more.
private let maxStep = Duration.milliseconds(20)

extension Failure {
  /// A Retry-After in this answer delays later requests, like one of the token's server. If the answer itself is
  /// the failure, and not a token request that followed it, the failure names the request.
  fileprivate func after(_ response: Response, to request: Request, clock: WallClock?) -> Failure {
    var failure = self
    switch trouble {
    case .noCredential, .credential, .freshRefused, .loggedOut:
      let page = RequestContext.current.page
      failure.step = page.map { "pull page \($0.number) of \($0.resource)" } ?? step
      failure.subject = request.shownURL
      failure.concerned.append(page.map { request.concern(asPage: $0.number, of: $0.resource) } ?? request.concern)
    default: break
    }
    failure.pageRetryAfter = response.retryAfter(now: (clock ?? .system).now())
    failure.retryAfter = [retryAfter, failure.pageRetryAfter].compactMap { $0 }.max()
    return failure
  }
}

extension Failure {
  /// With `flow = "basic"` as the next step if no flow is set and upstream asks for a user name and a password. The
  /// failure names a scheme that rosterd does not have.
  fileprivate func proposingFlow(_ response: Response) -> Failure {
    var failure = self
    if trouble == .noCredential || trouble == .credential, let scheme = response.foreignScheme {
      failure.cause = "upstream asks for \(scheme) (401, WWW-Authenticate: \(scheme)), which rosterd does not have"
      failure.hint = "see whether upstream takes HTTP Basic or a token of its own from programs"
      return failure
    }
    guard trouble == .noCredential, response.challengeSchemes.contains("basic") else { return self }
    failure.cause =
      "upstream asks for a user name and a password (401, WWW-Authenticate: Basic), and auth.flow is \"none\""
    failure.hint = "set auth.flow = \"basic\", with the files username and password"
    return failure
  }
}

extension Response {
  /// The `error` of a challenge (RFC 6750 §3); nil without one.
  fileprivate var challengeError: String? {
    for header in headers where header.isNamed("WWW-Authenticate") {
      if let match = header.value.firstMatch(of: /(?i)(?:^|[\s,])error\s*=\s*"?([a-z_]+)/) {
        return match.1.lowercased()
      }
    }
    return nil
  }

  /// The first words of all challenges and their parameters, in lower case: schemes are among them (RFC 9110 §11.6.1).
  fileprivate var challengeSchemes: [String] {
    headers.filter { $0.isNamed("WWW-Authenticate") }.flatMap { header in
      // A comma in quotes does not end a challenge.
      header.value.replacing(/"([^"\\]|\\.)*"/, with: "").split(separator: ",").compactMap {
        $0.split(separator: " ").first?.lowercased()
      }
    }
  }

  /// A scheme that rosterd does not have, if the challenges have no other; nil without one.
  fileprivate var foreignScheme: String? {
    let schemes = challengeSchemes
    guard !schemes.contains("basic"), !schemes.contains("bearer") else { return nil }
    return ["Digest", "Negotiate", "NTLM"].first { schemes.contains($0.lowercased()) }
  }
}

extension Response {
  /// True if the answer proves that the token works. Any other status may come from a server in front of the one
  /// that checks tokens.
  fileprivate var showsThatTokenWorks: Bool { status < 400 || status == 404 }
}

extension Request {
  fileprivate func carrying(_ token: Token?, of keeper: TokenKeeper) -> Request {
    guard let token else { return self }
    var request = self
    request.tokenLife = keeper.remainingLife(of: token)
    token.apply(to: &request)
    return request
  }
}
