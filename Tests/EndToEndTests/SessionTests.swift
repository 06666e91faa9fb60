import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// The end and the return of a session with the real programs; the simulator counts the requests.
@Suite(.serialized, .timeLimit(.minutes(1))) struct SessionTests {
  /// The first access token is valid for page 1, and upstream refuses the refresh once by mistake.
  private static let refusedOnce = Scenario.pages(
    2, tokens: .init(flow: .authenticateForm, uses: [1]), rules: [.on(.anyToken, times: 1, .refusal(401))])

  @Test("33: an ended session requests nothing, restarts included, until --retry-session tries it once more")
  func retrySession() async throws {
    try await withSite(Self.refusedOnce) { site in
      _ = try await site.sync(exit: 77)
      let asked = Asked(site)
      _ = try await site.sync(exit: 77)
      try await site.withDaemon { daemon, _ in
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        #expect(try await site.status().state == .unauthorized)
        #expect(Asked(site) == asked)

        let retried = try await site.rosterctl("sync", "--wait", "--json", "--retry-session")
        #expect(retried.exit == 0, "\(retried.error)")
        let report = try JSONDecoder().decode(SyncRecord.self, from: Data(retried.output.utf8))
        #expect(report.outcome == .published && report.refreshes == 1)
        #expect(try await site.status().state == .idle)
        #expect(try await daemon.end(by: SIGTERM).exit == 0)
      }
      #expect(site.upstream.counts.tokenRequests.count == 2 && site.upstream.counts.reuses == 0)
      #expect(try await site.sync().refreshes == 0)
      try await site.expectUpstream()
    }
  }

  @Test("33: a retry that is requested during a sync holds in that sync")
  func joinedRetry() async throws {
    try await withSite(Self.refusedOnce) { site in
      site.upstream.hold(.anyToken)
      try await site.withDaemon { _, _ in
        try await site.upstream.waitFor { $0.tokenRequests.count == 1 }
        let joined = try await site.rosterctl("sync", "--retry-session")
        #expect(joined.exit == 0, "\(joined.error)")
        site.upstream.release()
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        let last = try await site.status().sync.last
        #expect(last?.id == 1 && last?.outcome == .published && last?.refreshes == 1)
      }
      #expect(site.upstream.counts.tokenRequests.count == 2)
    }
  }

  @Test("33: a retry that is refused ends the session again, after one request")
  func retriedInVain() async throws {
    try await withSite(.pages(2, tokens: .init(flow: .authenticateForm, uses: [1]))) { site in
      site.upstream.endSession()
      _ = try await site.sync(exit: 77)
      try await site.withDaemon { _, _ in
        let retried = try await site.rosterctl("sync", "--wait", "--retry-session")
        #expect(retried.exit == 77)
        let asked = Asked(site)
        #expect(asked.tokens == 2)
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        #expect(Asked(site) == asked)
      }
    }
  }

  @Test(
    "35: before each sync the daemon looks at the credential files; new bytes start again, equal ones do not")
  func changedFile() async throws {
    try await withSite(.pages(2, tokens: .init(flow: .authenticateForm, uses: [1]))) { site in
      site.upstream.endSession()
      try await site.withDaemon { _, _ in
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        let asked = Asked(site)
        try site.write(try site.credentials())
        #expect(try await site.rosterctl("sync", "--wait").exit == 77)
        #expect(Asked(site) == asked)
        try site.write(site.upstream.newSession().files)
        let started = try await site.rosterctl("sync", "--wait")
        #expect(started.exit == 0, "\(started.error)")
      }
      try await site.expectUpstream()
    }
  }

  @Test("35: a changed credential wins over a valid stored session, whose tokens are not used any more")
  func newSessionWins() async throws {
    try await withSite(.pages(2, tokens: .init(flow: .authenticateForm, uses: [1]))) { site in
      #expect(try await site.sync().refreshes == 1)
      try site.write(site.upstream.newSession().files)
      let before = site.upstream.counts
      let report = try await site.sync()
      #expect(report.refreshes == 1 && report.exit == 0)
      let pages = site.upstream.counts.pageRequests.dropFirst(before.pageRequests.count)
      // The file's token first, then the one that its refresh token got.
      #expect(pages.allSatisfy { $0.generation != nil } && site.upstream.counts.reuses == 0)
      #expect(pages.first?.generation == 0)
    }
  }

  @Test("35: another auth.scope or auth.token_url reopens an ended session", arguments: ["SCOPE", "TOKEN_URL"])
  func otherSettings(name: String) async throws {
    try await withSite(Self.refusedOnce) { site in
      _ = try await site.sync(exit: 77)
      let asked = Asked(site)
      let value = name == "SCOPE" ? "read" : "\(site.upstream.origin)/token"
      if name == "SCOPE" {
        #expect(try await site.sync(with: ["ROSTERD_AUTH_SCOPE": value]).exit == 0)
      } else {
        // The same address in another spelling, so nothing has changed.
        _ = try await site.sync(exit: 77, with: ["ROSTERD_AUTH_TOKEN_URL": value])
        #expect(Asked(site) == asked)
        #expect(try await site.sync(with: ["ROSTERD_AUTH_TOKEN_URL": "token"]).exit == 0)
      }
    }
  }

  @Test("35: another auth.scope, and --new-token, ask for a new token in the same session")
  func newToken() async throws {
    try await withSite(.pages(2, tokens: .init(flow: .oauth2Refresh, uses: [1]))) { site in
      #expect(try await site.sync().refreshes == 1)
      #expect(try await site.sync(with: ["ROSTERD_AUTH_SCOPE": "read"]).refreshes == 1)
      #expect(try await site.sync(with: ["ROSTERD_AUTH_SCOPE": "read"]).refreshes == 0)
      try await site.withDaemon { _, _ in
        #expect(try await site.rosterctl("sync", "--wait").exit == 0)
        #expect(site.upstream.counts.tokenRequests.count == 3)
        let asked = try await site.rosterctl("sync", "--wait", "--json", "--new-token")
        #expect(try JSONDecoder().decode(SyncRecord.self, from: Data(asked.output.utf8)).refreshes == 1)
        let next = try await site.rosterctl("sync", "--wait", "--json")
        #expect(try JSONDecoder().decode(SyncRecord.self, from: Data(next.output.utf8)).refreshes == 0)
      }
      let bodies = site.upstream.counts.tokenRequests.map { String(decoding: $0.request.body, as: UTF8.self) }
      #expect(bodies.map { $0.hasSuffix("&scope=read") } == [false, true, false, false])
      #expect(site.upstream.counts.reuses == 0)
      try await site.expectUpstream()
    }
  }

  @Test("33: with oauth2_client_credentials a refused refresh token is followed by one new grant")
  func clientCredentials() async throws {
    var tokens = Scenario.Tokens(flow: .oauth2ClientCredentials)
    tokens.grantRefreshToken = true
    try await withSite(.pages(2, tokens: tokens)) { site in
      #expect(try await site.sync().refreshes == 1)
      site.upstream.endSession()
      let report = try await site.sync()
      #expect(report.refreshes == 1 && report.exit == 0)
      let kinds = site.upstream.counts.tokenRequests.map { String(decoding: $0.request.body.prefix(24), as: UTF8.self) }
      #expect(
        kinds
          == ["grant_type=client_credent", "grant_type=refresh_token", "grant_type=client_credent"].map {
            String($0.prefix(24))
          })
      #expect(try await site.sync().refreshes == 0)
    }
  }

  @Test("41: after SIGTERM no new grant follows a refused refresh token; the next start begins with it")
  func noGrantAfterStop() async throws {
    var tokens = Scenario.Tokens(flow: .oauth2ClientCredentials)
    tokens.grantRefreshToken = true
    try await withSite(.pages(2, tokens: tokens)) { site in
      try await site.withDaemon { daemon, notify in
        #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
        site.upstream.endSession()
        site.upstream.hold(.anyToken)
        _ = try await site.rosterctl("sync")
        try await site.upstream.waitFor { $0.tokenRequests.count == 2 }
        daemon.signal(SIGTERM)
        _ = await notify.first { $0.contains("STOPPING=1") }
        site.upstream.release()
        #expect(try await daemon.end().exit == 0)
      }
      #expect(Asked(site).tokens == 2)
      #expect(try await site.sync().refreshes == 1)
      #expect(Asked(site).tokens == 3)
    }
  }

  @Test("33: if the grant is refused too, the session ends, and it is 77 without a request until a new secret")
  func clientRefused() async throws {
    try await withSite(.pages(2, tokens: .init(flow: .oauth2ClientCredentials))) { site in
      let secret = try site.credentials()["client_secret"]
      try site.write(["client_secret": "wrong"])
      #expect(try await site.sync(exit: 77).error?.contains("client_secret") == true)
      let asked = Asked(site)
      #expect(asked.tokens == 1)
      _ = try await site.sync(exit: 77)
      #expect(Asked(site) == asked)
      try site.write(["client_secret": try #require(secret)])
      #expect(try await site.sync().refreshes == 1)
    }
  }
}

/// Number of requests that reached upstream.
private struct Asked: Equatable {
  var pages: Int
  var tokens: Int

  init(_ site: Site) {
    let counts = site.upstream.counts
    pages = counts.pageRequests.count
    tokens = counts.tokenRequests.count
  }
}

extension Site {
  func write(_ credentials: [String: String]) throws {
    for (name, text) in credentials { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
  }

  func credentials() throws -> [String: String] {
    var files: [String: String] = [:]
    for name in upstream.credentials.files.keys {
      files[name] = try String(contentsOf: URL(filePath: "\(folder)/\(name)"), encoding: .utf8)
    }
    return files
  }
}
