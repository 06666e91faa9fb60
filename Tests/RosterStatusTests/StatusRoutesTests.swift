import FoundationEssentials
import RosterCore
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterStatus

@Suite struct StatusRoutesTests {
  private func get(_ target: String, routes: StatusRoutes = makeRoutes()) async -> Response {
    await response(routes.answer(StatusRequest(method: "GET", target: target)))
  }

  private func response(_ answer: StatusAnswer) async -> Response {
    switch answer {
    case .now(let response): response
    case .later(let work): await work()
    case .longPoll(_, let look): await look().response
    case .events: Response(status: 0)
    }
  }

  private func problem(_ response: Response) throws -> Problem {
    #expect(response["content-type"] == "application/problem+json")
    return try JSONDecoder().decode(Problem.self, from: Data(response.body))
  }

  @Test("/v1/status is the board's document")
  func status() async throws {
    let board = makeBoard(cache: snapshot)
    let answer = await get("/v1/status", routes: makeRoutes(board))
    #expect(answer.status == 200 && answer["content-type"] == "application/json")
    #expect(try JSONDecoder().decode(DaemonStatus.self, from: Data(answer.body)) == board.status())
  }

  @Test("/v1/syncs has the latest 20 syncs by default")
  func syncs() async throws {
    struct Answer: Decodable { var syncs: [SyncRecord] }
    let asked = Mutex<[SyncsRequest]>([])
    let routes = makeRoutes(history: { request in
      asked.withLock { $0.append(request) }
      return [makeReport()]
    })
    let answer = await get("/v1/syncs", routes: routes)
    #expect(try JSONDecoder().decode(Answer.self, from: Data(answer.body)).syncs == [makeReport()])
    _ = await get("/v1/syncs?limit=1000", routes: routes)
    _ = await get("http://localhost/v1/syncs?resources=false&limit=%31", routes: routes)
    _ = await get("/v1/syncs?resources=true", routes: routes)
    _ = await get("/v1/syncs?resources=false&limit=2", routes: routes)
    #expect(
      asked.withLock { $0 } == [
        SyncsRequest(limit: 20), SyncsRequest(limit: 1000), SyncsRequest(limit: 1),
        SyncsRequest(limit: 20, withResources: true), SyncsRequest(limit: 2),
      ])
    let bad = try problem(await get("/v1/syncs?resources=1", routes: routes))
    #expect(bad.status == 400 && bad.detail == "resources is 1; it must be true or false")
  }

  @Test("A limit outside 1…1000 is 400", arguments: ["0", "1001", "-1", "x", "", "1.5"])
  func badLimits(limit: String) async throws {
    let problem = try problem(await get("/v1/syncs?limit=\(limit)"))
    #expect(problem.status == 400)
    #expect(problem.detail == "limit is \(limit); it must be a whole number from 1 to 1000")
  }

  @Test("A failure of a route is a problem with the failure's sentence")
  func failures() async throws {
    let failure = Failure(.cannotWrite, step: "read the history", subject: "roster.db", cause: "disk I/O error")
    let problem = try problem(await get("/v1/syncs", routes: makeRoutes(history: { _ in throw failure })))
    #expect(problem.status == 503 && problem.detail == "\(failure)")
  }

  @Test("Unknown paths are 404, other methods 405 with Allow, as problem+json")
  func errors() async throws {
    #expect(try problem(await get("/v2/status")).status == 404)
    for (method, path, allow) in [
      ("POST", "/v1/status", "GET, HEAD"), ("GET", "/v1/sync", "POST"), ("DELETE", "/metrics", "GET, HEAD"),
    ] {
      let answer = await response(makeRoutes().answer(StatusRequest(method: method, target: path)))
      #expect(try problem(answer).status == 405)
      #expect(answer["allow"] == allow)
    }
  }

  @Test(
    "48: an unknown query parameter or key of a body is 400, and so is a parameter that occurs twice",
    arguments: [
      ("GET", "/v1/syncs?lmit=9", "/v1/syncs has no parameter lmit; it takes limit, resources"),
      (
        "GET", "/v1/changes?since=0&lim%69t=1&x",
        "/v1/changes has no parameter x; it takes since, feed, resource, limit, wait"
      ),
      ("GET", "/metrics?a=b", "/metrics has no parameter a; it takes none"),
      ("GET", "/?token=1", "/ has no parameter token; it takes none"),
      ("HEAD", "/page.js?v=2", "/page.js has no parameter v; it takes none"),
      ("POST", "/v1/sync?allow_removal=true", "/v1/sync has no parameter allow_removal; it takes none"),
      ("GET", "/readyz?max-age=1h", "/readyz has no parameter max-age; it takes max_age"),
      ("GET", "/v1/syncs?limit=1&limit=x", "the parameter limit occurs more than once; name it once"),
      ("GET", "/readyz?max_age=1ms&max%5fage=1h", "the parameter max_age occurs more than once; name it once"),
    ])
  func unknownParameters(method: String, target: String, detail: String) async throws {
    let problem = try problem(
      await response(makeRoutes().answer(StatusRequest(method: method, target: target, peer: 0))))
    #expect(problem == Problem(title: "Bad Request", status: 400, detail: detail))
  }

  @Test("48: a query without parameters is accepted")
  func emptyQueries() async {
    for target in ["/healthz?", "/healthz?&", "/v1/status?&&"] { #expect(await get(target).status == 200, "\(target)") }
    #expect(await get("/nothing?x=1").status == 404)
  }

  @Test("/healthz follows the daemon's loop")
  func health() async {
    #expect(await get("/healthz").status == 200)
    #expect(await get("/healthz", routes: makeRoutes(alive: false)).status == 503)
  }

  @Test("/readyz is 200 once there is a snapshot, verified not longer ago than max_age")
  func readiness() async throws {
    let clock = ManualClock()
    let board = makeBoard(clock: clock)
    let routes = makeRoutes(board)
    #expect(try problem(await get("/readyz", routes: routes)).detail == "there is no snapshot yet")
    board.cache(snapshot)
    clock.advance(by: .seconds(60))
    #expect(await get("/readyz", routes: routes).status == 200)
    #expect(await get("/readyz?max_age=2m", routes: routes).status == 200)
    #expect(
      try problem(await get("/readyz?max_age=1m", routes: routes)).detail
        == "the snapshot was last verified 60.6 s ago, longer than 1m")
    #expect(try problem(await get("/readyz?max_age=soon", routes: routes)).status == 400)
  }

  @Test("Only root and the daemon's own user may ask for a sync", arguments: [0, 1000, 1001, nil] as [UInt32?])
  func permission(peer: UInt32?) async {
    let answer = await response(
      makeRoutes(owner: 1000).answer(StatusRequest(method: "POST", target: "/v1/sync", peer: peer)))
    #expect(answer.status == (peer == 0 || peer == 1000 ? 202 : 403))
  }

  @Test("48: POST /v1/sync accepts the keys of its body, and names an unknown one in its refusal")
  func syncBodies() async throws {
    let asked = Mutex<[SyncRequest]>([])
    let routes = makeRoutes(sync: { request in
      asked.withLock { $0.append(request) }
      return SyncRequest.Accepted(sync: 18, joined: true)
    })
    func post(_ body: String) async -> Response {
      await response(routes.answer(StatusRequest(method: "POST", target: "/v1/sync", body: Array(body.utf8), peer: 0)))
    }
    let answer = await post("")
    #expect(answer.status == 202)
    #expect(String(decoding: answer.body, as: UTF8.self) == #"{"joined":true,"sync":18}"# + "\n")
    _ = await post(#"{"allow_removal": true}"#)
    _ = await post(#"{"allow_removal": false, "retry_session": true}"#)
    #expect(asked.withLock { $0 } == [SyncRequest(), SyncRequest(allowRemoval: true), SyncRequest(retrySession: true)])
    _ = await post(#"{"fresh": true}"#)
    #expect(asked.withLock { $0.last } == SyncRequest(isFresh: true))
    _ = await post(#"{"new_token": true}"#)
    #expect(asked.withLock { $0.last } == SyncRequest(wantsNewToken: true))
    for bad in [
      "[]", "{", #"{"allow_removal": "yes"}"#, #"{"alow_removal": true}"#, #"{"allow_removal":true,}"#,
      "\u{FEFF}" + #"{"allow_removal":true}"#,
    ] {
      #expect(try problem(await post(bad)).status == 400, "\(bad)")
    }
    #expect(asked.withLock { $0.count } == 5)
    let detail = "the body has the unknown key alow_removal; it takes allow_removal, retry_session, new_token, fresh"
    #expect(try problem(await post(#"{"fresh": true, "alow_removal": true}"#)).detail == detail)
    #expect(try problem(await post(#"{"alow_removal": 1}"#)).detail == detail)
  }

  @Test("20: a fresh request during a sync that is not fresh is answered with 409")
  func freshConflict() async throws {
    let routes = makeRoutes(sync: { _ in throw SyncRequest.Conflict() })
    let body = Array(#"{"fresh": true}"#.utf8)
    let answer = await response(routes.answer(StatusRequest(method: "POST", target: "/v1/sync", body: body, peer: 0)))
    #expect(answer.status == 409)
    #expect(try problem(answer).status == 409)
    // A daemon of 0.2 refuses a member that it does not know.
    let plain = try JSONEncoder().encode(SyncRequest())
    #expect(!String(decoding: plain, as: UTF8.self).contains("fresh"))
  }

  @Test("/v1/changes passes since, feed, resource, limit and wait on, with their defaults")
  func feed() async throws {
    let asked = Mutex<[FeedRequest]>([])
    let routes = makeRoutes(feed: { request in
      asked.withLock { $0.append(request) }
      return .page(json: Array(#"{"last":7}"#.utf8), isEmpty: false)
    })
    let answer = await get("/v1/changes?since=7", routes: routes)
    #expect(answer.status == 200 && String(decoding: answer.body, as: UTF8.self) == #"{"last":7}"#)
    _ = await get("/v1/changes?limit=1000&resource=issue&since=0&feed=a%20b&wait=0s", routes: routes)
    #expect(
      asked.withLock { $0 } == [
        FeedRequest(since: 7), FeedRequest(since: 0, feed: "a b", resource: "issue", limit: 1000),
      ])
    for (text, wait) in [("1m", Duration.seconds(60)), ("60s", .seconds(60)), ("1ms", .milliseconds(1))] {
      guard
        case .longPoll(wait, _) = routes.answer(
          StatusRequest(method: "GET", target: "/v1/changes?since=0&wait=\(text)"))
      else {
        Issue.record("\(text) is not waited for")
        continue
      }
    }
  }

  @Test(
    "A wrong parameter of /v1/changes is 400 with one sentence",
    arguments: [
      ("", "since is missing; it must be the id of a change, or 0"),
      ("?since=", "since is ; it must be the id of a change, or 0"),
      ("?since=-1", "since is -1; it must be the id of a change, or 0"),
      ("?since=x", "since is x; it must be the id of a change, or 0"),
      ("?since=%2B1", "since is +1; it must be the id of a change, or 0"),
      ("?since=9223372036854775808", "since is 9223372036854775808; it must be the id of a change, or 0"),
      ("?since=0&wait=2h", "wait is 2h; it must be a duration from 0s to 60s"),
      ("?since=0&wait=60.001s", "wait is 60.001s; it must be a duration from 0s to 60s"),
      ("?since=0&wait=30", "wait is 30; it must be a duration from 0s to 60s"),
      ("?since=0&wait=-1s", "wait is -1s; it must be a duration from 0s to 60s"),
      ("?since=0&limit=0", "limit is 0; it must be a whole number from 1 to 1000"),
      ("?since=0&limit=1001", "limit is 1001; it must be a whole number from 1 to 1000"),
    ])
  func badFeed(query: String, detail: String) async throws {
    let problem = try problem(await get("/v1/changes\(query)"))
    #expect(problem == Problem(title: "Bad Request", status: 400, detail: detail))
  }

  @Test(
    "7: /v1/changes is 410 if the reader must read everything again, 400 for an unknown resource, 503 without cache")
  func readAnew() async throws {
    let gone = try problem(
      await get("/v1/changes?since=3", routes: makeRoutes(feed: { _ in .readAnew("it ends with change 2") })))
    #expect(gone.status == 410 && gone.type == "about:blank#read-anew" && gone.title == "Gone")
    #expect(gone.detail == "cannot go on after change 3: it ends with change 2; read everything again")
    let unknown = try problem(
      await get("/v1/changes?since=3", routes: makeRoutes(feed: { _ in .noResource("none such") })))
    #expect(unknown == Problem(title: "Bad Request", status: 400, detail: "none such"))
    let failure = Failure(.cannotWrite, step: "read the cache", subject: "roster.db", cause: "disk I/O error")
    let broken = try problem(await get("/v1/changes?since=3", routes: makeRoutes(feed: { _ in throw failure })))
    #expect(broken.status == 503 && broken.detail == "\(failure)" && broken.exit == 73)
  }

  @Test("POST /v1/cancel is 202 with the sync, 409 if none runs, and 403 for other users than root and the owner")
  func cancel() async throws {
    func post(_ sync: Int64?, peer: UInt32?) async -> Response {
      await response(
        makeRoutes(cancel: { sync }).answer(StatusRequest(method: "POST", target: "/v1/cancel", peer: peer)))
    }
    for peer in [0, 1000] as [UInt32] {
      let answer = await post(18, peer: peer)
      #expect(answer.status == 202 && String(decoding: answer.body, as: UTF8.self) == "{\"sync\":18}\n")
    }
    let none = try problem(await post(nil, peer: 0))
    #expect(none == Problem(title: "Conflict", status: 409, detail: "no sync runs", exit: 1))
    #expect(await post(18, peer: 1001).status == 403)
    #expect(await post(18, peer: nil).status == 403)
  }

  @Test("Last-Event-ID is the id to resume from, and an invalid one asks for all events")
  func lastEventID() {
    func after(_ headers: [Request.Header]) -> UInt64?? {
      guard
        case .events(let last) = makeRoutes().answer(
          StatusRequest(method: "GET", target: "/v1/events", headers: headers))
      else {
        return nil
      }
      return last
    }
    #expect(after([]) == .some(nil))
    #expect(after([Request.Header("Last-Event-ID", "42")]) == 42)
    #expect(after([Request.Header("last-event-id", "x")]) == 0)
  }
}
