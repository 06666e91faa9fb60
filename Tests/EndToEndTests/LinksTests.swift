import FoundationEssentials
import RosterCore
import RosterSimulator
import Synchronization
import Testing

/// `upstream.links`, and credentials that upstream repeats in its addresses, tested with the real program.
@Suite(.serialized, .timeLimit(.minutes(1))) struct LinksTests {
  private static let definition = """
    [resource.thing]
    path = "/thing"
    records = "/items"
    columns.id = { at = "/id", type = "integer" }
    pages = { style = "next", at = "/next" }
    """

  /// Three pages of two, each of which leads to the public host and repeats the whole query.
  @Sendable private static func served(_ request: Request) -> Response? {
    let parts = request.url.split(separator: "?", maxSplits: 1).map(String.init)
    guard parts.first == "/api/thing" else { return nil }
    let rest = (parts.dropFirst().first ?? "").split(separator: "&").filter { !$0.hasPrefix("page=") }
    let page = parts.last?.wholeMatch(of: /(?:.*&)?page=(\d+).*/).flatMap { Int($0.1) } ?? 1
    let query = (["page=\(page + 1)"] + rest.map(String.init)).joined(separator: "&")
    let next = page < 3 ? "\"https://public.invalid/api/thing?\(query)\"" : "null"
    let items = [2 * page - 1, 2 * page].map { "{\"id\":\($0)}" }.joined(separator: ",")
    return Response(status: 200, body: Array("{\"next\":\(next),\"items\":[\(items)]}".utf8))
  }

  @Test("38, 39: a next page elsewhere is 65; links = rebase follows it on base_url and removes the token from it")
  func mirror() async throws {
    let asked = Asked()
    var tokens = Scenario.Tokens(flow: .oauth2Refresh, uses: [2])
    tokens.place = TokenPlace(.parameter, name: "api_key")
    var scenario = Scenario.pages(1, tokens: tokens)
    scenario.beside = { request in
      asked.add(request.url)
      return Self.served(request)
    }
    try await withSite(scenario, settings: ["ROSTERD_LOG_LEVEL": "trace"]) { site in
      let file = "\(site.folder)/rosterd.toml"
      try Data(Self.definition.utf8).write(to: URL(filePath: file))
      let refused = try await site.rosterd("sync", "--config", file)
      #expect(refused.exit == 65 && refused.error.contains("upstream.links = \"rebase\""), "\(refused.error)")
      #expect(asked.all.count == 1)
      let rebase = ["ROSTERD_UPSTREAM_LINKS": "rebase"]
      let done = try await site.rosterd("sync", "--config", file, with: rebase)
      #expect(done.exit == 0, "\(done.error)")
      #expect(try await site.rows("SELECT id FROM thing ORDER BY id") == (1...6).map { ["\($0)"] })
      // The second page of the second sync is refused, and requested again with the new token.
      let secrets = site.upstream.secrets.filter { $0.hasPrefix("access-") }
      #expect(secrets.count == 2)
      #expect(
        asked.all == [
          "/api/thing?api_key=\(secrets[0])", "/api/thing?api_key=\(secrets[0])",
          "/api/thing?page=2&api_key=\(secrets[1])", "/api/thing?page=3&api_key=\(secrets[1])",
        ])
      var shown = refused.error + refused.output + done.error + done.output
      #expect(shown.contains("/thing?page=3"))
      for name in ["roster.db", "roster.db-wal", "roster.db.next"] {
        let bytes = FileManager.default.contents(atPath: "\(site.folder)/state/\(name)") ?? Data()
        shown += String(decoding: bytes, as: UTF8.self)
      }
      for secret in site.upstream.secrets { #expect(!shown.contains(secret)) }
    }
  }

}

/// The addresses that were requested with a valid token, in order.
private final class Asked: Sendable {
  private let addresses = Mutex<[String]>([])

  var all: [String] { addresses.withLock { $0 } }

  func add(_ address: String) { addresses.withLock { $0.append(address) } }
}
