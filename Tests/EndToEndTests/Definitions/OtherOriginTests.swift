import FoundationEssentials
import RosterCore
import RosterDecode
import RosterSimulator
import Testing

/// `headers` and `base_url` of a resource.
@Suite(.serialized, .timeLimit(.minutes(2))) struct OtherOriginTests {
  private static func toml(_ second: String) -> String {
    """
    [auth]
    flow = "static"
    [retry]
    max_retries = 0
    [upstream.headers]
    X-Version = "1"
    X-Same = "yes"
    [resource.site]
    path = "/sites"
    pages = { style = "one" }
    columns = { id = { at = "/id", type = "integer" } }
    [resource.visit]
    base_url = "\(second)/v9/"
    path = "/visits"
    headers = { X-Version = "2", X-Day = "{today:date}", X-Site = "s{site.id}", Accept = "application/x.visits+json" }
    by_key = "/visits/{key}"
    each = { of = "site" }
    pages = { style = "next", at = "/next" }
    columns = { id = { at = "/id", type = "integer" } }
    """
  }

  @Test(
    "39, 52: a resource has its own headers and its own server, which gets the token, in one snapshot")
  func mirrors() async throws {
    let other = OwnAPI { call in
      guard call["Authorization"] == "Bearer t0ken-of-both" else { throw Refusal(status: 401, why: "no token") }
      guard call["X-Version"] == "2", call["X-Same"] == "yes", call["X-Day"]?.count == 10,
        call["Accept"] == "application/x.visits+json"
      else { throw Refusal(status: 400, why: "headers") }
      let site = call["X-Site"] ?? ""
      if call.path == "/v9/visits/11" { throw Refusal(status: 404, why: "gone") }
      guard call.path == "/v9/visits" else { throw Refusal(status: 404, why: "path") }
      if call.parameter("page") == "2" {
        return .json(("next", .null), ("list", .list([])))
      }
      return .list(ids: site == "s1" ? [11, 12] : [21])
    }
    var scenario = Scenario(characters: [])
    scenario.beside = { other.respond(to: $0) }
    let second = try await Simulator.start(scenario)
    defer { Task { await second.stop() } }
    let first: OwnAPI.Answer = { call in
      guard call["Authorization"] == "Bearer t0ken-of-both", call["X-Version"] == "1" else {
        throw Refusal(status: 401, why: "no token")
      }
      return .list(ids: [1, 2])
    }
    try await withReach(Self.toml(second.origin), answer: first) { reach in
      try reach.writeCredential("access_token", "t0ken-of-both")
      #expect(try await reach.sync().outcome == .published)
      #expect(try await reach.column("SELECT id, site_id FROM visit ORDER BY id") == ["11 1", "12 1", "21 2"])
      #expect(reach.api.take().map(\.url) == ["/sites"])
      #expect(try await reach.sync().outcome == .unchanged)
      // Upstream's second server is down: nothing of the sync is published.
      other.become { _ in throw Refusal(status: 503, why: "down") }
      reach.api.become { _ in .list(ids: [1, 2, 3]) }
      _ = try await reach.sync(exit: 69)
      #expect(try await reach.column("SELECT count(*) FROM site") == ["2"])
    }
    await second.stop()
  }

  @Test(
    "53: an invalid base_url of a resource, or one in clear beside https, is 78",
    arguments: [
      ("ftp://a", "http://b", "neither http nor https"), ("http://u:p@a", "http://b", "a user or a password"),
      ("http://a/?q=1", "http://b", "holds a query"), ("http://a", "https://b", "does not go with an https base_url"),
    ])
  func refused(second: String, base: String, why: String) async throws {
    try await withReach(Self.toml(second).replacing("/v9/\"", with: "\"")) { reach in
      var reach = reach
      reach.site.settings["ROSTERD_UPSTREAM_BASE_URL"] = base
      try await reach.expectRefused(why)
    }
  }
}
