import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

@Suite struct TokenEndpointTests {
  typealias Tokens = Scenario.Tokens

  struct Answer: Decodable {
    var oauthAccess, oauthRefresh, token, refreshToken, accessToken: String?
    var expiresIn: Int?
    var access: String? { oauthAccess ?? token ?? accessToken }
    var refresh: String? { oauthRefresh ?? refreshToken }

    enum CodingKeys: String, CodingKey {
      case token, refreshToken, accessToken
      case oauthAccess = "access_token"
      case oauthRefresh = "refresh_token"
      case expiresIn = "expires_in"
    }
  }

  private static func refresh(_ flow: Flow, token: String, credentials: SimulatedCredentials) -> (
    String, [Request.Header]
  ) {
    switch flow {
    case .none, .static, .basic, .jwt: ("", [])
    case .oauth2Refresh, .oauth2ClientCredentials:
      ("grant_type=refresh_token&refresh_token=\(token)", [credentials.basic])
    case .authenticateForm: ("refreshToken=\(token)", [])
    case .exchange: (#"{"refresh":"\(token)"}"#, [])
    case .bearerRefresh, .bearerRenew: ("", [Request.Header("Authorization", "Bearer \(token)")])
    }
  }

  @Test(
    "Each refreshing flow rotates, and a second use of a spent token revokes everything",
    arguments: [
      Flow.oauth2Refresh, .authenticateForm, .bearerRefresh, .bearerRenew,
    ])
  func strictRotation(flow: Flow) async throws {
    try await withSimulator(Scenario(tokens: Tokens(flow: flow, expiresIn: 300))) {
      (simulator: Simulator) async throws in
      let start = simulator.credentials
      let first = try #require(flow == .bearerRenew ? start.accessToken : start.refreshToken)
      #expect(try await simulator.page(1, token: start.accessToken).status == 200)

      let (body, headers) = Self.refresh(flow, token: first, credentials: start)
      let answer = try await simulator.post(body, headers: headers).json(Answer.self)
      let second = try #require(flow == .bearerRenew ? answer.access : answer.refresh)
      #expect(second != first && answer.expiresIn == 300)
      #expect(try await simulator.page(1, token: answer.access).status == 200)
      #expect(simulator.counts.pageRequests.map(\.generation) == [0, 1])

      #expect(try await simulator.post(body, headers: headers).status == 400)
      #expect(simulator.counts.reuses == 1)
      let (next, nextHeaders) = Self.refresh(flow, token: second, credentials: start)
      #expect(try await simulator.post(next, headers: nextHeaders).status == 400)
      #expect(try await simulator.page(1, token: answer.access).status == 401)

      let fresh = simulator.newSession()
      #expect(try await simulator.page(1, token: fresh.accessToken).status == 200)
      #expect(
        [start, fresh].allSatisfy {
          $0.files.values.allSatisfy { $0 == "roster:client" || simulator.secrets.contains($0) }
        })
    }
  }

  @Test("Client credentials grant access, with a refresh token if configured")
  func clientCredentials() async throws {
    var tokens = Tokens(flow: .oauth2ClientCredentials)
    try await withSimulator(Scenario(tokens: tokens)) { (simulator: Simulator) async throws in
      let headers = [simulator.credentials.basic]
      let answer = try await simulator.post("grant_type=client_credentials", headers: headers).json(Answer.self)
      #expect(answer.refresh == nil)
      #expect(try await simulator.page(1, token: answer.access).status == 200)
      #expect(try await simulator.post("grant_type=client_credentials").status == 401)
    }
    tokens.grantRefreshToken = true
    try await withSimulator(Scenario(tokens: tokens)) { (simulator: Simulator) async throws in
      let headers = [simulator.credentials.basic]
      let answer = try await simulator.post("grant_type=client_credentials", headers: headers).json(Answer.self)
      let refresh = "grant_type=refresh_token&refresh_token=\(answer.refresh ?? "")"
      #expect(try await simulator.post(refresh, headers: headers).status == 200)
      #expect(simulator.counts.tokensGranted == 2 && simulator.counts.tokensRefused == 0)
    }
  }

  @Test("A request in another flow's shape is refused and spends nothing")
  func wrongShape() async throws {
    try await withSimulator(Scenario(tokens: Tokens(flow: .authenticateForm))) { (simulator: Simulator) async throws in
      let token = simulator.credentials.refreshToken ?? ""
      #expect(try await simulator.post("grant_type=refresh_token&refresh_token=\(token)").status == 400)
      #expect(try await simulator.post("refreshToken=\(token)").status == 200)
    }
  }

  @Test("none wants no token; static accepts its one token and grants none")
  func withoutTokens() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      #expect(simulator.credentials.files.isEmpty)
      #expect(try await simulator.page(1).status == 200)
    }
    try await withSimulator(Scenario(tokens: Tokens(flow: .static))) { (simulator: Simulator) async throws in
      #expect(try await simulator.page(1).status == 401)
      #expect(try await simulator.page(1, token: "stranger").status == 401)
      #expect(try await simulator.page(1, token: simulator.credentials.accessToken).status == 200)
      #expect(simulator.credentials.files.keys.sorted() == ["access_token"])
    }
  }

  @Test("A token dies by use, by time, or on command")
  func deaths() async throws {
    let clock = ManualClock()
    let tokens = Tokens(flow: .authenticateForm, uses: [2], lifetime: .seconds(60))
    try await withSimulator(Scenario(tokens: tokens), clock: clock) { (simulator: Simulator) async throws in
      let start = simulator.credentials
      for status in [200, 200, 401, 401] {
        #expect(try await simulator.page(1, token: start.accessToken).status == status)
      }
      let answer = try await simulator.post("refreshToken=\(start.refreshToken ?? "")").json(Answer.self)
      for _ in 1...5 { #expect(try await simulator.page(1, token: answer.access).status == 200) }
      clock.advance(by: .seconds(60))
      #expect(try await simulator.page(1, token: answer.access).status == 401)

      let last = try await simulator.post("refreshToken=\(answer.refresh ?? "")").json(Answer.self)
      simulator.killAccessTokens()
      #expect(try await simulator.page(1, token: last.access).status == 401)
      #expect(try await simulator.post("refreshToken=\(last.refresh ?? "")").status == 200)
    }
  }

  @Test("A lost answer has spent the token; a request that was dropped or answered by a fault has not")
  func lostAnswers() async throws {
    let rules: [Rule] = [
      .on(.token(1), .drop), .on(.token(2), .status(503)), .on(.token(3), .cut(after: .nothing, .reset)),
    ]
    try await withSimulator(Scenario(tokens: Tokens(flow: .authenticateForm), rules: rules)) {
      (simulator: Simulator) async throws in
      let body = "refreshToken=\(simulator.credentials.refreshToken ?? "")"
      await #expect(throws: (any Error).self) { try await simulator.post(body) }
      #expect(try await simulator.post(body).status == 503)
      #expect(simulator.counts.tokensGranted == 0)
      await #expect(throws: (any Error).self) { try await simulator.post(body) }
      #expect(simulator.counts.tokensGranted == 1)
      #expect(try await simulator.post(body).status == 400)
      #expect(simulator.counts.reuses == 1 && simulator.counts.tokenRequests.count == 4)
    }
  }

  @Test("JWTs carry their expiry")
  func jwt() async throws {
    let clock = ManualClock(now: Date(timeIntervalSince1970: 1_000_000))
    var tokens = Tokens(flow: .static, lifetime: .seconds(90))
    tokens.areJWTs = true
    try await withSimulator(Scenario(tokens: tokens), clock: clock) { (simulator: Simulator) async throws in
      let token = try #require(simulator.credentials.accessToken)
      let claims = String(token.split(separator: ".")[1])
      let padded = claims + String(repeating: "=", count: (4 - claims.count % 4) % 4)
      let json = try #require(Data(base64Encoded: padded.replacing("-", with: "+").replacing("_", with: "/")))
      #expect(String(decoding: json, as: UTF8.self).hasPrefix(#"{"exp":1000090,"#))
      #expect(try await simulator.page(1, token: token).status == 200)
    }
  }
}
