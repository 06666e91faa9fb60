import FoundationEssentials
import RosterCore
import RosterSimulator
import Testing

/// The definitions in config/sources, used by the real program with servers that behave as those APIs' documentation
/// says.
@Suite(.serialized, .timeLimit(.minutes(5))) struct SourceTests {
  static let all: [PublicAPI] = [
    .rickandmorty, .github, .gitlab, .gitlabIssues, .stripe, .jira, .wordpress, .zendesk, .pokeapi, .swapi, .notion,
  ]

  @Test(
    "1, 9, 15, 17, 21: each bundled definition mirrors its API through additions, changes and removals",
    arguments: Self.all)
  func mirrors(_ api: PublicAPI) async throws {
    let server = try PublicServer(api)
    var scenario = Scenario(characters: [])
    scenario.beside = { server.answer($0) }
    try await withSite(scenario) { site in
      var site = site
      site.settings["ROSTERD_UPSTREAM_BASE_URL"] = site.upstream.origin + api.prefix
      // Not what these tests are about, and slow.
      site.settings["ROSTERD_LIMIT_RATE"] = "0"
      for (name, secret) in api.credentials {
        try Data(secret.utf8).write(to: URL(filePath: "\(site.folder)/\(name)"))
      }
      let first = server.world
      try await expectFirst(api, server: server, in: site)
      try await expectSame(api, server: server, in: site)
      try server.goOn()
      try await expectLater(api, server: server, in: site, from: first)
      #expect(server.refused.isEmpty, "\(server.refused)")
      let peak = site.upstream.counts.peakInFlight
      #expect(api.file != "github-issues" || peak == 1, "GitHub asks for one request after the other")
    }
  }

  @Test("check accepts every bundled definition, and notes only missing credentials", arguments: Self.all.map(\.file))
  func check(_ file: String) async throws {
    let outcome = try await Program.run(
      try Program.built("rosterd"), arguments: ["check", "--config", Self.path(file)])
    let isNote = outcome.error.split(separator: "\n").map { $0.hasPrefix("rosterd: note: auth.flow = ") }
    #expect(outcome.exit == 0 && !isNote.contains(false), "\(outcome.error)")
  }

  private func expectFirst(_ api: PublicAPI, server: PublicServer, in site: Site) async throws {
    let sync = try await sync(api, in: site)
    #expect(sync.outcome == .published && sync.error == nil && sync.rejected == 0)
    #expect(server.takeAsked().map(\.address).sorted() == api.asked.sorted())
    // A page of two resources is requested once, and counts as a page of each.
    #expect(sync.requests == api.asked.count)
    try await site.expectMirror(of: server.world, api)
    for (question, row) in api.seen {
      #expect(try await site.rows(question) == [row], "\(question)")
    }
    let proof = try await site.rows("SELECT name, proof FROM resources ORDER BY name")
    #expect(proof == api.proof.sorted { $0.key < $1.key }.map { [$0.key, $0.value] })
    #expect(try await site.rows("SELECT count(*) FROM changes") == [["0"]])
  }

  private func expectSame(_ api: PublicAPI, server: PublicServer, in site: Site) async throws {
    let sync = try await sync(api, in: site)
    #expect(sync.outcome == .unchanged)
    let asked = server.takeAsked()
    if let next = api.askedNext {
      #expect(asked.map(\.address).sorted() == next.sorted())
      let incremental = api.kinds.filter { $0.unseen != nil }.flatMap(\.resources)
      let proof = api.proof.sorted { $0.key < $1.key }.map {
        [$0.key, incremental.contains($0.key) ? "since" : $0.value]
      }
      #expect(try await site.rows("SELECT name, proof FROM resources ORDER BY name") == proof)
      return
    }
    #expect(asked.map(\.address).sorted() == api.asked.sorted())
    #expect(asked.allSatisfy { $0.isConditional == api.hasETags })
    #expect((sync.bytes == 0) == api.hasETags && (sync.notModified > 0) == api.hasETags)
  }

  private func expectLater(
    _ api: PublicAPI, server: PublicServer, in site: Site, from first: World
  ) async throws {
    let sync = try await sync(api, in: site)
    #expect(sync.outcome == .published && sync.error == nil && sync.rejected == 0)
    if api.askedNext != nil {
      try await site.expectMirror(of: World(api, isLater: true, isIncremental: true), api)
      // The whole pull finds what the incremental one does not see.
      let whole = try await self.sync(api, in: site, isWhole: true)
      #expect(whole.error == nil && whole.rejected == 0)
    }
    let isTwice = try await site.rows("SELECT DISTINCT definition ->> 'removal' FROM resources") == [["twice"]]
    if isTwice {
      // A record that is absent once is not removed yet.
      #expect(sync.removed == 0)
      #expect(try await self.sync(api, in: site).removed == api.kinds.reduce(0) { $0 + $1.fates.count })
    }
    try await site.expectMirror(of: server.world, api)
    try await site.expectChanges(from: first, to: server.world, api)
  }

  private func sync(_ api: PublicAPI, in site: Site, isWhole: Bool = false) async throws -> SyncRecord {
    let path = Self.path(api.file)
    let outcome =
      isWhole
      ? try await site.rosterd("sync", "--json", "--config", path, "--fresh")
      : try await site.rosterd("sync", "--json", "--config", path)
    try #require(outcome.exit == 0, "\(outcome.error)")
    return try JSONDecoder().decode(SyncRecord.self, from: Data(outcome.output.utf8))
  }

  static func path(_ file: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../config/sources/\(file).toml").path
  }
}
