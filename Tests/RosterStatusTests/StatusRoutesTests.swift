import FoundationEssentials
import RosterModel
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterStatus

@Suite struct StatusRoutesTests {
  private func get(_ target: String, _ routes: StatusRoutes = makeRoutes()) async -> Response {
    await response(routes.answer(StatusRequest("GET", target)))
  }

  private func response(_ answer: StatusAnswer) async -> Response {
    switch answer {
    case .now(let response): response
    case .later(let work): await work()
    case .events: Response(status: 0)
    }
  }

  private func problem(_ response: Response) throws -> Problem {
    #expect(response["content-type"] == "application/problem+json")
    return try JSONDecoder().decode(Problem.self, from: Data(response.body))
  }

  @Test("Status: /v1/status is the board's document")
  func status() async throws {
    let board = makeBoard(cache: snapshot)
    let answer = await get("/v1/status", makeRoutes(board))
    #expect(answer.status == 200 && answer["content-type"] == "application/json")
    #expect(try JSONDecoder().decode(DaemonStatus.self, from: Data(answer.body)) == board.status())
  }

  @Test("Status: /v1/syncs gives the latest, 20 unless asked otherwise")
  func syncs() async throws {
    struct Answer: Decodable { var syncs: [SyncRecord] }
    let asked = Mutex<[Int]>([])
    let routes = makeRoutes(history: { limit in
      asked.withLock { $0.append(limit) }
      return [makeReport()]
    })
    let answer = await get("/v1/syncs", routes)
    #expect(try JSONDecoder().decode(Answer.self, from: Data(answer.body)).syncs == [makeReport()])
    _ = await get("/v1/syncs?limit=1000", routes)
    _ = await get("http://localhost/v1/syncs?other=1&limit=%31", routes)
    #expect(asked.withLock { $0 } == [20, 1000, 1])
  }

  @Test("Status: a limit outside 1…1000 is 400", arguments: ["0", "1001", "-1", "x", "", "1.5"])
  func badLimits(limit: String) async throws {
    let problem = try problem(await get("/v1/syncs?limit=\(limit)"))
    #expect(problem.status == 400)
    #expect(problem.detail == "limit is \(limit); it must be a whole number from 1 to 1000")
  }

  @Test("Status: what fails behind a route is a problem with the failure's sentence")
  func failures() async throws {
    let failure = Failure(.cannotWrite, step: "read the history", subject: "roster.db", cause: "disk I/O error")
    let problem = try problem(await get("/v1/syncs", makeRoutes(history: { _ in throw failure })))
    #expect(problem.status == 503 && problem.detail == "\(failure)")
  }

  @Test("Status: unknown paths are 404, other methods 405 with Allow, as problem+json")
  func errors() async throws {
    #expect(try problem(await get("/v2/status")).status == 404)
    for (method, path, allow) in [
      ("POST", "/v1/status", "GET, HEAD"), ("GET", "/v1/sync", "POST"), ("DELETE", "/metrics", "GET, HEAD"),
    ] {
      let answer = await response(makeRoutes().answer(StatusRequest(method, path)))
      #expect(try problem(answer).status == 405)
      #expect(answer["allow"] == allow)
    }
  }

  @Test("Status: /healthz follows the daemon's loop")
  func health() async {
    #expect(await get("/healthz").status == 200)
    #expect(await get("/healthz", makeRoutes(alive: false)).status == 503)
  }

  @Test("Status: /readyz is 200 once there is a snapshot, verified not longer ago than max_age")
  func readiness() async throws {
    let clock = ManualClock()
    let board = makeBoard(clock: clock)
    let routes = makeRoutes(board)
    #expect(try problem(await get("/readyz", routes)).detail == "there is no snapshot yet")
    board.cache(snapshot)
    clock.advance(by: .seconds(60))
    #expect(await get("/readyz", routes).status == 200)
    #expect(await get("/readyz?max_age=2m", routes).status == 200)
    #expect(
      try problem(await get("/readyz?max_age=1m", routes)).detail
        == "the snapshot was last verified 60.6 s ago, longer than 1m")
    #expect(try problem(await get("/readyz?max_age=soon", routes)).status == 400)
  }

  @Test("Status: only root and the daemon's own user may ask for a sync", arguments: [0, 1000, 1001, nil] as [UInt32?])
  func permission(peer: UInt32?) async {
    let answer = await response(makeRoutes(owner: 1000).answer(StatusRequest("POST", "/v1/sync", peer: peer)))
    #expect(answer.status == (peer == 0 || peer == 1000 ? 202 : 403))
  }

  @Test("Status: POST /v1/sync passes on what its body allows, and refuses what it does not know")
  func syncBodies() async throws {
    let asked = Mutex<[SyncRequest]>([])
    let routes = makeRoutes(sync: { request in
      asked.withLock { $0.append(request) }
      return SyncRequest.Accepted(sync: 18, joined: true)
    })
    func post(_ body: String) async -> Response {
      await response(routes.answer(StatusRequest("POST", "/v1/sync", body: Array(body.utf8), peer: 0)))
    }
    let answer = await post("")
    #expect(answer.status == 202)
    #expect(String(decoding: answer.body, as: UTF8.self) == #"{"joined":true,"sync":18}"# + "\n")
    _ = await post(#"{"allow_removal": true}"#)
    _ = await post(#"{"allow_removal": false, "retry_session": true}"#)
    #expect(
      asked.withLock { $0 } == [
        SyncRequest(), SyncRequest(allowRemoval: true),
        SyncRequest(retrySession: true),
      ])
    for bad in [
      "[]", "{", #"{"allow_removal": "yes"}"#, #"{"alow_removal": true}"#, #"{"allow_removal":true,}"#,
      "\u{FEFF}" + #"{"allow_removal":true}"#, #"{"allow_removal":true,"allow_removal":false}"#,
    ] {
      #expect(try problem(await post(bad)).status == 400, "\(bad)")
    }
    #expect(asked.withLock { $0.count } == 3)
  }

  @Test("Events: Last-Event-ID names where to go on; one that is no id asks for everything")
  func lastEventID() {
    func after(_ headers: [Request.Header]) -> UInt64?? {
      guard case .events(let last) = makeRoutes().answer(StatusRequest("GET", "/v1/events", headers: headers)) else {
        return nil
      }
      return last
    }
    #expect(after([]) == .some(nil))
    #expect(after([Request.Header("Last-Event-ID", "42")]) == 42)
    #expect(after([Request.Header("last-event-id", "x")]) == 0)
  }
}
