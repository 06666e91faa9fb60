package import RosterAuth
import RosterModel

extension Interceptor {
  /// Sends the token to base_url's origin, and to no other (T8). After a 401 the request is tried again: with the
  /// current token if the refused one was older, then with a fresh token. If that is refused too, the request fails
  /// (T3).
  /// - Parameters:
  ///   - logout: statuses that end the session at once.
  ///   - pacer: gives each request its turn; nil without `limit.rate`.
  package static func authorize(
    _ keeper: TokenKeeper, baseURL: String, logout: Set<Int>, pacer: RequestPacer? = nil
  ) -> Interceptor {
    let below = "\(baseURL)/"
    let home = Origin(url: baseURL)
    return Interceptor { request, next in
      guard request.url.hasPrefix(below) || Origin(url: request.url) == home else {
        try await pacer?.turn()
        return try await next(request)
      }
      var token = try await keeper.token(inTurnOf: pacer)
      var isFresh = false
      var wasLate = false
      var wasOutlived = false
      while true {
        var response: Response
        do { response = try await next(request.carrying(token, of: keeper)) } catch let fault as RequestFault
          where fault.isOfOutlivedToken && !wasOutlived
        {
          // The connection is open now, and kept for the next attempt.
          wasOutlived = true
          token = try await keeper.token(inTurnOf: pacer)
          continue
        }
        if logout.contains(response.status), !response.isSpent {
          throw await keeper.endSession(status: response.status, generation: token?.generation)
            .after(response, to: request, clock: pacer?.clock)
        }
        guard response.status == 401 else {
          if let token, response.showsThatTokenWorks { await keeper.accepted(token.generation) }
          response.token = token?.sent
          return response
        }
        if isFresh {
          throw await keeper.refusedAgain(token?.generation)
            .comparingClocks(of: response, token: token, now: (pacer?.clock ?? .system).now())
            .after(response, to: request, clock: pacer?.clock)
        }
        do { (token, isFresh) = try await keeper.rejected(token?.generation) } catch let failure as Failure {
          throw failure.comparingClocks(of: response, token: token, now: (pacer?.clock ?? .system).now())
            .after(response, to: request, clock: pacer?.clock).proposingFlow(response)
        }
        if let pacer { token = try await keeper.token(inTurnOf: pacer) }
        // If a request was late twice, its next 401 fails it: the token that is current now counts as fresh.
        if wasLate { isFresh = true }
        wasLate = !isFresh
      }
    }
  }
}

extension TokenKeeper {
  /// The token to send when it is the request's turn. The token is read after the wait for the turn, which may outlive
  /// a token (T2). If reading took long, because of a refresh, the request waits for another turn.
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
  /// A Retry-After in this answer delays later requests (P11), like one of the token's server. If the answer itself is
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

extension Token {
  fileprivate var sent: Response.SentToken {
    Response.SentToken(access.reveal(), parameter: place.carrier == .parameter ? place.name : nil)
  }
}

extension Response {
  /// True if the answer proves that the token works (T3). Any other status may come from a server in front of the one
  /// that checks tokens.
  fileprivate var showsThatTokenWorks: Bool { status < 400 || status == 404 }
}

extension Request {
  fileprivate func carrying(_ token: Token?, of keeper: TokenKeeper) -> Request {
    guard let token else { return self }
    var request = self
    request.tokenLife = keeper.remainingLife(of: token)
    let (place, value) = (token.place, token.place.value(token.access.reveal()))
    switch place.carrier {
    case .header:
      request.headers.removeAll { $0.isNamed(place.name) }
      request.headers.append(Header(place.name, value))
    case .parameter: request.secret = Parameter(place.name, value)
    }
    return request
  }
}
