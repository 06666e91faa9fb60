import FoundationEssentials
import Logging
import RosterAuth
import RosterCore
import RosterFetch
import RosterTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct AuthorizeTests {
  /// Calls `body` with a keeper whose grants are a1, a2, …, and with a function that returns their number so far.
  private func withKeeper(
    accessToken: String? = nil, flow: Flow = .oauth2Refresh, send: [TokenPlace] = [.bearer], clock: WallClock = .system,
    expiresIn: Int = 3600,
    _ body: (TokenKeeper, @escaping @Sendable () -> Int) async throws -> Void
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/rosterd-authorize-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let grants = Grants()
    var settings = TokenSettings(
      flow: flow, tokenURL: "http://localhost/token", baseOrigin: "http://localhost:80",
      tokenOrigin: "http://localhost:80", storePath: folder + "/token.json")
    settings.send = send
    let keeper = TokenKeeper(
      settings: settings,
      credentials: { _ in .init(refreshToken: Secret("r"), accessToken: accessToken.map { Secret($0) }) },
      send: { _ in
        Response(status: 200, body: Array("{\"access_token\":\"a\(grants.next())\",\"expires_in\":\(expiresIn)}".utf8))
      }, clock: clock,
      report: { _ in }, onStatus: { _ in }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await keeper.open()
    try await keeper.syncBegins()
    try await body(keeper) { grants.count }
  }

  private final class Grants: Sendable {
    private let number = Mutex(0)
    var count: Int { number.withLock { $0 } }
    func next() -> Int {
      number.withLock { number in
        number += 1
        return number
      }
    }
  }

  /// A clock whose waits end at once.
  private static func hasty(_ waits: Waits = Waits()) -> WallClock {
    WallClock(now: { Date(timeIntervalSince1970: 1_700_000_000) }, sleep: { waits.add($0) }, uptime: { waits.total })
  }

  private final class Waits: Sendable {
    private let durations = Mutex<[Duration]>([])
    var all: [Duration] { durations.withLock { $0 } }
    var total: Duration { durations.withLock { $0.reduce(.zero, +) } }
    func add(_ duration: Duration) { durations.withLock { $0.append(duration) } }
  }

  @Test("29: a request whose 401s all arrive late is sent with each current token, and causes no refresh")
  func alwaysLate() async throws {
    try await withKeeper { keeper, grants in
      let sent = Mutex(0)
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { request in
        guard
          sent.withLock({
            $0 += 1
            return $0
          }) < 5
        else { return Response(status: 200) }
        // Another request has used this token successfully, and then found it expired, before this request is answered.
        let token = try await keeper.current()
        await keeper.accepted(token?.generation ?? 0, by: request)
        _ = try await keeper.rejected(TokenRefusal(generation: token?.generation))
        return Response(status: 401)
      }
      let response = try await send(Request(.get, "http://localhost/character"))
      #expect(response.status == 200 && sent.withLock { $0 } == 5 && grants() == 5)
    }
  }

  @Test(
    "34: only an answer below 400, or 404, shows that a brand-new token works; until then a 401 causes no refresh",
    arguments: [200, 304, 404, 400, 403, 429, 500, 503])
  func provesToken(status: Int) async throws {
    try await withKeeper(accessToken: "a0", clock: Self.hasty()) { keeper, grants in
      let answers = Mutex([401, status, 401, status])
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { _ in
        Response(status: answers.withLock { $0.removeFirst() })
      }
      let request = Request(.get, "http://localhost/character")
      for _ in 0..<2 {
        let response = try await send(request)
        #expect(response.status == status)
      }
      #expect(grants() == (status < 400 || status == 404 ? 2 : 1))
    }
  }

  /// Answers 401 to each token for the first of its requests, so that only one that is tried again succeeds.
  @Test(
    "34: one request tries a brand-new token again after 1, 2 and 4 s, and all others wait for it", arguments: 0...3)
  func brandNew(refusals: Int) async throws {
    let waits = Waits()
    try await withKeeper(clock: Self.hasty(waits)) { keeper, grants in
      let left = Mutex(refusals)
      let sent = Mutex(0)
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { _ in
        sent.withLock { $0 += 1 }
        return left.withLock { left in
          left -= 1
          return Response(status: left >= 0 ? 401 : 200)
        }
      }
      let response = try await send(Request(.get, "http://localhost/character"))
      #expect(response.status == 200 && grants() == 1 && sent.withLock { $0 } == refusals + 1)
      #expect(waits.all == Array([.seconds(1), .seconds(2), .seconds(4)].prefix(refusals)))
    }
  }

  @Test(
    "34: a request that had succeeded decides whether a refusal is about the token or about the list",
    arguments: [true, false])
  func witness(isOfList: Bool) async throws {
    let waits = Waits()
    try await withKeeper(accessToken: "a0", clock: Self.hasty(waits)) { keeper, grants in
      let sent = Mutex<[String]>([])
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { request in
        let token = Response(status: 0, headers: request.headers)["Authorization"]
        sent.withLock { $0.append("\(request.url.split(separator: "/").last ?? "") \(token ?? "")") }
        let isRefused = request.url.hasSuffix("tags") || (!isOfList && token != "Bearer a0")
        return Response(status: isRefused ? 401 : 200)
      }
      @Sendable func get(_ list: String) async throws -> Int {
        try await RequestContext.$current.withValue(.init(resource: list)) {
          try await send(Request(.get, "http://localhost/\(list)")).status
        }
      }
      let first = try await get("items")
      #expect(first == 200)
      if isOfList {
        let refused = try await get("tags")
        let again = try await get("tags")
        #expect(refused == 401 && again == 401)
        #expect(
          sent.withLock { $0 } == [
            "items Bearer a0", "tags Bearer a0", "tags Bearer a1", "tags Bearer a1", "tags Bearer a1", "tags Bearer a1",
            "items Bearer a1", "tags Bearer a1",
          ])
      } else {
        let failure = await #expect(throws: Failure.self) { try await get("tags") }
        #expect(failure?.trouble == .freshRefused)
        #expect(sent.withLock { $0.last } == "items Bearer a1")
      }
      #expect(grants() == 1 && waits.all == [.seconds(1), .seconds(2), .seconds(4)])
    }
  }

  /// A challenge of RFC 6750 §3.
  private static func challenge(_ error: String) -> Request.Header {
    .init("WWW-Authenticate", #"Bearer realm="x", error="\#(error)", error_description="d""#)
  }

  @Test("34: insufficient_scope causes no refresh, and its answer counts for the list", arguments: [401, 403])
  func scope(status: Int) async throws {
    try await withKeeper(accessToken: "a0") { keeper, grants in
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { _ in
        Response(status: status, headers: [Self.challenge("insufficient_scope")])
      }
      let response = try await send(Request(.get, "http://localhost/character"))
      #expect(response.status == status && grants() == 0)
    }
  }

  private static func expired(where toml: (String, Resource.Condition.Test)? = nil) -> ExpiredAnswers {
    var expired = ExpiredAnswers()
    expired.statuses += [302, 403]
    if let (at, test) = toml, let pointer = JSONPointer(at) { expired.conditions = [Resource.Condition(pointer, test)] }
    return expired
  }

  @Test(
    "34: invalid_token at any status and what auth.expired names cause one refresh and one repeat",
    arguments: [
      (400, "invalid_token", ""), (403, "invalid_token", ""), (419, "", ""), (440, "", ""), (498, "", ""),
      (403, "", ""), (302, "", ""), (200, "", #"{"errors":[{"extensions":{"code":"invalid-jwt"}}]}"#),
    ])
  func expiredOtherwise(status: Int, error: String, body: String) async throws {
    try await withKeeper(accessToken: "a0") { keeper, grants in
      let expired = Self.expired(where: ("/errors/0/extensions/code", .equal(.text("invalid-jwt"))))
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", expired: expired)]) { request in
        guard Response(status: 0, headers: request.headers)["Authorization"] == "Bearer a0" else {
          return Response(status: 200, body: Array(#"{"data":{}}"#.utf8))
        }
        return Response(status: status, headers: error.isEmpty ? [] : [Self.challenge(error)], body: Array(body.utf8))
      }
      let response = try await send(Request(.get, "http://localhost/character"))
      #expect(response.status == 200 && response.body == Array(#"{"data":{}}"#.utf8) && grants() == 1)
    }
  }

  @Test("34: a condition that fits every page fails the sync after one refresh, and the message names its key")
  func expiredAlways() async throws {
    try await withKeeper(accessToken: "a0", clock: Self.hasty()) { keeper, grants in
      let expired = Self.expired(where: ("/data", .present))
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", expired: expired)]) { _ in
        Response(status: 200, body: Array(#"{"data":[]}"#.utf8))
      }
      let failure = await #expect(throws: Failure.self) { try await send(Request(.get, "http://localhost/character")) }
      #expect(failure?.kind == .refused && grants() == 1)
      #expect(failure?.hint?.contains("auth.expired.where") == true)
      #expect(failure?.concerned.contains(.setting("auth.expired.where")) == true)
    }
  }

  @Test("34: after eight refreshes without an expiry in a sync, the next one comes a minute after the last")
  func unexplained() async throws {
    let waits = Waits()
    try await withKeeper(accessToken: "a0", clock: Self.hasty(waits)) { keeper, grants in
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { request in
        let token = Response(status: 0, headers: request.headers)["Authorization"]
        return Response(status: request.url.hasSuffix(token ?? "") ? 401 : 200)
      }
      for number in 0..<10 {
        let response = try await send(Request(.get, "http://localhost/?dead=Bearer a\(number)"))
        #expect(response.status == 200 && grants() == number + 1)
      }
      #expect(waits.all == [.seconds(60), .seconds(60)])
    }
  }

  @Test("27, 30: a request that is sent again waits for its own turn, and has the token of that moment")
  func sentAgain() async throws {
    let clock = ManualClock()
    let pacer = RequestPacer(rate: 0.1, clock: clock.wallClock)
    try await withKeeper(clock: clock.wallClock, expiresIn: 5) { keeper, grants in
      let sent = Mutex<[Request]>([])
      let links = [Interceptor.resend, .authorize(keeper, baseURL: "http://localhost", pacer: pacer)]
      let send = Interceptor.chain(links) { request in
        sent.withLock { $0.append(request) }
        guard !request.needsNewConnection else { return Response(status: 200) }
        var fault = Failure(.unreachable, cause: "the server closed the connection", reason: .connection)
        fault.exchange?.isOfKeptConnection = true
        throw fault
      }
      async let answer = send(Request(.get, "http://localhost/character"))
      await clock.sleepers(1)
      #expect(clock.pending == [.seconds(10)] && sent.withLock { $0.count } == 1)
      clock.advance(by: .seconds(10))
      let status = try await answer.status
      #expect(status == 200)
      let tokens = sent.withLock { $0.map { Response(status: 0, headers: $0.headers)["Authorization"] } }
      #expect(tokens == ["Bearer a1", "Bearer a2"] && grants() == 2)
    }
  }

  @Test("30: a token that expired while its request waited for a connection is replaced first, once")
  func outlivedWithoutConnection() async throws {
    let clock = ManualClock()
    try await withKeeper(clock: clock.wallClock, expiresIn: 100) { keeper, grants in
      let lives = Mutex<[Duration?]>([])
      let outlived = Mutex(1)
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { request in
        lives.withLock { $0.append(request.tokenLife) }
        guard outlived.withLock({ $0 }) > 0 else { return Response(status: 200) }
        outlived.withLock { $0 -= 1 }
        clock.advance(by: .seconds(101))
        var fault = Failure(.unreachable, cause: "test", reason: .timeout)
        fault.exchange?.isOfOutlivedToken = true
        throw fault
      }
      let response = try await send(Request(.get, "http://localhost/character"))
      #expect(response.status == 200 && response.token?.texts == ["a2"] && grants() == 2)
      #expect(lives.withLock { $0 } == [.seconds(100), .seconds(100)])
      outlived.withLock { $0 = 2 }
      let fault = await #expect(throws: Failure.self) {
        try await send(Request(.get, "http://localhost/character"))
      }
      #expect(fault?.reason == .timeout && lives.withLock { $0.count } == 4)
    }
  }

  @Test("30: a token that expired while its request waited for limit.rate is not sent")
  func outlived() async throws {
    let clock = ManualClock()
    let start = clock.now
    let pacer = RequestPacer(rate: 0.1, clock: clock.wallClock)
    try await withKeeper(clock: clock.wallClock, expiresIn: 15) { keeper, _ in
      // The first and the last time at which each token was sent.
      let sent = Mutex<[String: [Double]]>([:])
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", pacer: pacer)]) {
        request in
        let token = Response(status: 0, headers: request.headers)["Authorization"] ?? ""
        sent.withLock { $0[token, default: []].append(clock.now.timeIntervalSince(start)) }
        return Response(status: 200)
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...4 { group.addTask { _ = try await send(Request(.get, "http://localhost/character")) } }
        for turn in 1...4 {
          while sent.withLock({ $0.values.joined().count }) < turn { await Task.yield() }
          if turn < 4 { await clock.sleepers(1) }
          clock.advance(by: .seconds(10))
        }
        try await group.waitForAll()
      }
      let times = sent.withLock { $0 }
      #expect(times.values.joined().sorted() == [0, 10, 20, 30])
      #expect(times.values.allSatisfy { ($0.last ?? 0) - ($0.first ?? 0) < 15 }, "\(times)")
    }
  }

  @Test("25: a 403 that is a rate limit ends no session, even if logout_status names 403")
  func spent() async throws {
    try await withKeeper(accessToken: "a0") { keeper, _ in
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", logout: [403])]) { request in
        let headers: [Request.Header] =
          switch request.url.split(separator: "/").last {
          case "spent": [.init("x-ratelimit-remaining", "0")]
          case "second": [.init("Retry-After", "60"), .init("x-ratelimit-remaining", "4990")]
          default: []
          }
        return Response(status: 403, headers: headers)
      }
      for place in ["spent", "second"] {
        let answer = try await send(Request(.get, "http://localhost/\(place)"))
        #expect(answer.status == 403)
      }
      await #expect(throws: Failure.self) { try await send(Request(.get, "http://localhost/other")) }
    }
  }

  @Test("25, 34: a 401 that ends the sync reports its Retry-After")
  func refusedForLonger() async throws {
    try await withKeeper(accessToken: "a0", clock: Self.hasty()) { keeper, _ in
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", logout: [419])]) { request in
        Response(status: request.url.hasSuffix("out") ? 419 : 401, headers: [.init("Retry-After", "600")])
      }
      for place in ["character", "out"] {
        try await keeper.syncBegins()
        let failure = await #expect(throws: Failure.self) { try await send(Request(.get, "http://localhost/\(place)")) }
        #expect(failure?.kind == .refused && failure?.retryAfter == .seconds(600))
      }
    }
  }

  @Test("34: the failure of a refused token names the resource, the page and the address")
  func refusedPage() async throws {
    try await withKeeper(accessToken: "a0", clock: Self.hasty()) { keeper, _ in
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", logout: [403])]) { request in
        let isFirst = Response(status: 0, headers: request.headers)["Authorization"] == "Bearer a0"
        let isGood = isFirst && request.url.hasSuffix("things")
        return Response(status: request.url.hasSuffix("out") ? 403 : isGood ? 200 : 401)
      }
      _ = try await send(Request(.get, "http://localhost/things"))
      for (target, resource) in [("notes?page=3", "note"), ("out", "thing")] {
        try await keeper.syncBegins()
        let request = Request(.get, "http://localhost/\(target)")
        let failure = await #expect(throws: Failure.self) {
          try await RequestContext.$current.withValue(.init(page: .init(3, of: resource))) { try await send(request) }
        }
        #expect(failure?.step == "pull page 3 of \(resource)" && failure?.subject == request.url)
        #expect(failure?.concerned.contains(request.concern(asPage: 3, of: resource)) == true)
      }
    }
  }

  @Test(
    "34: after a 401 without a flow the hint proposes flow = \"basic\" if one of the challenges is Basic",
    arguments: [
      (#"Basic realm="x""#, true), (#"basic realm="x", charset="UTF-8""#, true),
      (#"Bearer realm="a, b", BASIC realm="c""#, true), (#"Bearer realm="a, Basic b""#, false), ("Basically", false),
      (#"Negotiate"#, false),
    ])
  func proposal(challenge: String, isBasic: Bool) async throws {
    try await withKeeper(flow: .none) { keeper, _ in
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost")]) { _ in
        Response(status: 401, headers: [.init("www-authenticate", challenge)])
      }
      let failure = await #expect(throws: Failure.self) { try await send(Request(.get, "http://localhost/character")) }
      #expect(failure?.kind == .refused && failure?.trouble == .noCredential)
      #expect(failure?.hint?.contains(#"flow = "basic""#) == isBasic, "\(failure?.hint ?? "")")
    }
  }

  @Test(
    "47: the message names a scheme that rosterd does not have, unless upstream offers one that it has",
    arguments: [
      (["Digest realm=\"a\", qop=\"auth\", nonce=\"x\""], "Digest"), (["Negotiate", "NTLM"], "Negotiate"),
      (["ntlm"], "NTLM"), (["Digest realm=\"a\"", "Basic realm=\"a\""], nil), (["Bearer"], nil),
    ] as [([String], String?)])
  func foreignScheme(challenges: [String], named: String?) async throws {
    for flow in [Flow.none, .static] {
      try await withKeeper(accessToken: "a0", flow: flow) { keeper, _ in
        let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost", logout: [])]) { _ in
          Response(status: 401, headers: challenges.map { .init("WWW-Authenticate", $0) })
        }
        let failure = await #expect(throws: Failure.self) {
          try await send(Request(.get, "http://localhost/character"))
        }
        #expect(failure?.cause.contains("which rosterd does not have") == (named != nil))
        if let named { #expect(failure?.cause.hasPrefix("upstream asks for \(named) (401") == true) }
      }
    }
  }

  @Test("auth.send replaces a configured header of the same name")
  func header() async throws {
    let place = TokenPlace(.header, name: "accept", before: "t=", after: ";")
    try await withKeeper(accessToken: "a0", send: [place]) { keeper, _ in
      let send = Interceptor.chain(
        [.headers([Request.Header("X-Tenant", "blue")]), .authorize(keeper, baseURL: "http://localhost")]
      ) { request in
        #expect(request.headers.filter { $0.isNamed("Accept") } == [Request.Header("accept", "t=a0;")])
        #expect(request.headers.contains(Request.Header("X-Tenant", "blue")) && request.secrets.isEmpty)
        #expect(!request.headers.contains { $0.isNamed("Authorization") })
        return Response(status: 200)
      }
      let answer = try await send(Request(.get, "http://localhost/character"))
      #expect(answer.token?.texts == ["a0"] && answer.token?.parameters == [])
    }
  }

  @Test("38, 39: a token in the query goes only to base_url's origin, and no shown address has it")
  func parameter() async throws {
    try await withKeeper(accessToken: "a0", send: [TokenPlace(.parameter, name: "api_key")]) { keeper, _ in
      let send = Interceptor.chain([.authorize(keeper, baseURL: "http://localhost/api")]) { request in
        #expect(request.headers.isEmpty && !request.url.contains("a0"))
        return Response(status: 200, body: Array((request.secrets.first?.value ?? "").utf8))
      }
      let home = try await send(Request(.get, "http://localhost/character"))
      #expect(home.body == Array("a0".utf8) && home.token?.parameters == ["api_key"])
      let elsewhere = try await send(Request(.get, "http://localhost:81/character"))
      #expect(elsewhere.body.isEmpty && elsewhere.token == nil)
    }
  }
}
