import FoundationEssentials
import RosterCore
import Testing

@testable import RosterStatus

@Suite struct CrossSiteTests {
  private let port = "127.0.0.1:9718"

  private func status(
    _ target: String, method: String = "GET", host: String? = "localhost", with headers: [String: String] = [:],
    on routes: StatusRoutes = makeRoutes()
  ) async -> Int {
    await answer(target, method: method, host: host, with: headers, on: routes).status
  }

  private func answer(
    _ target: String, method: String = "GET", host: String? = "localhost", with headers: [String: String] = [:],
    on routes: StatusRoutes = makeRoutes()
  ) async -> Response {
    let fields = (host.map { ["Host": $0] } ?? [:]).merging(headers) { $1 }
    let request = StatusRequest(
      method: method, target: target, headers: fields.map { Request.Header($0.key, $0.value) }, peer: 0)
    return switch routes.answer(request) {
    case .now(let response): response
    case .later(let work): await work()
    case .longPoll(_, let look): await look().response
    case .events: Response(status: 200)
    }
  }

  @Test(
    "46: loopback names are answered, with any port",
    arguments: [
      "localhost", "LocalHost:9718", "127.0.0.1", "127.0.0.1:9718", "127.0.1.1:80", "[::1]", "[::1]:9718", "", nil,
    ])
  func loopback(host: String?) async {
    for path in ["/v1/status", "/v1/changes?since=0", "/", "/metrics", "/v1/events"] {
      #expect(await status(path, host: host) == 200, "\(path)")
    }
  }

  @Test(
    "46: a Host without a loopback name is 403, and the answer says why",
    arguments: [
      "evil.example", "evil.example:9718", "a", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.256",
      "127.1", "10.0.0.1", "[::2]", "[::1", "[::1]x", "localhost:9718x", "evil@localhost", "localhost@evil",
      "0x7f.0.0.1",
    ])
  func rebound(host: String) async throws {
    for (method, path) in [
      ("GET", "/v1/status"), ("GET", "/v1/changes?since=0"), ("GET", "/"), ("GET", "/page.js"),
      ("GET", "/v1/events"), ("POST", "/v1/sync"), ("GET", "/nothing"),
    ] {
      #expect(await status(path, method: method, host: host) == 403, "\(path)")
      for scheme in ["http", "https", "HTTPS", "ftp"] {
        #expect(await status("\(scheme)://\(host)\(path)", method: method) == 403, "\(scheme) \(path)")
      }
    }
    let refusal = await answer("/v1/changes?since=0", host: host)
    let problem = try JSONDecoder().decode(Problem.self, from: Data(refusal.body))
    #expect(refusal["content-type"] == "application/problem+json" && problem.title == "Forbidden")
    #expect(problem.detail.hasPrefix("the Host \(host) is no name of loopback"))
  }

  @Test("46: a scraper may use any name of this machine, a browser may not")
  func scrapers() async {
    for path in ["/metrics", "/healthz"] {
      #expect(await status(path, host: "web1.example:9718") == 200)
      #expect(await status(path, host: "web1.example:9718", with: ["Accept-Language": "en"]) == 403)
      #expect(await status(path, host: "web1.example:9718", with: ["Origin": "http://web1.example:9718"]) == 200)
    }
    #expect(await status("/readyz", host: "web1.example:9718") == 503)
  }

  @Test("46: requests of another site's page are 403, those of the own page are answered")
  func origins() async {
    for origin in ["http://evil.example", "null", "http://127.0.0.1:8000", "https://localhost:9718", ""] {
      #expect(await status("/v1/status", host: "localhost:9718", with: ["Origin": origin]) == 403, "\(origin)")
      #expect(await status("/metrics", host: "localhost:9718", with: ["Origin": origin]) == 403, "\(origin)")
    }
    #expect(await status("/v1/status", host: "localhost:9718", with: ["Origin": "http://LOCALHOST:9718"]) == 200)
    for site in ["cross-site", "same-site", "anything"] {
      #expect(await status("/v1/status", with: ["Sec-Fetch-Site": site]) == 403, "\(site)")
      #expect(await status("/metrics", with: ["Sec-Fetch-Site": site]) == 403, "\(site)")
    }
    for site in ["same-origin", "none"] {
      #expect(await status("/v1/status", with: ["Sec-Fetch-Site": site]) == 200, "\(site)")
    }
  }

  @Test("46: a link on another site opens the page, and nothing else")
  func links() async {
    let link = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"]
    #expect(await status("/", with: link) == 200)
    #expect(await status("/v1/status", with: link) == 403)
    #expect(await status("/", method: "POST", with: link) == 403)
    #expect(await status("/", with: link.merging(["Sec-Fetch-Dest": "iframe"]) { $1 }) == 403)
    #expect(await status("/", with: link.merging(["Origin": "http://evil.example"]) { $1 }) == 403)
  }

  @Test("46: the metrics socket offers the routes of monitors, and nothing else")
  func monitors() async throws {
    let routes = makeRoutes(makeBoard(cache: snapshot)).ofMonitors
    for path in ["/metrics", "/healthz", "/readyz"] {
      #expect(await status(path, host: port, on: routes) == 200, "\(path)")
    }
    for (method, path) in [
      ("GET", "/"), ("GET", "/page.js"), ("GET", "/v1/status"), ("GET", "/v1/explain"), ("GET", "/v1/syncs"),
      ("GET", "/v1/events"), ("GET", "/v1/changes?since=0"), ("GET", "/v1/%63hanges?since=0"), ("POST", "/v1/sync"),
      ("POST", "/v1/cancel"), ("GET", "/openapi.json"), ("GET", "/v1/records"),
    ] {
      #expect(await status(path, method: method, host: port, on: routes) == 403, "\(path)")
    }
    #expect(await status("/metrics", method: "POST", host: port, on: routes) == 405)
  }

  @Test("38: the explanation names records by their keys, also those that could not be stored")
  func explained() async throws {
    var rejecting = makeReport()
    rejecting.rejected = 1
    rejecting.trouble = Diagnosis(
      .rejects, "1 record was rejected",
      [.record("5", of: "character"), .resource("character"), .address("http://up/character/5")])
    let routes = makeRoutes(
      makeBoard(cache: snapshot, last: rejecting), rejected: { [.record("6", of: "character", reason: "x")] })
    let all = try JSONDecoder().decode(Explanation.self, from: Data(await answer("/v1/explain", on: routes).body))
    #expect(Set(["5", "6", "http://up/character/5"]).isSubset(of: all.concerned.map(\.name)))
  }
}
