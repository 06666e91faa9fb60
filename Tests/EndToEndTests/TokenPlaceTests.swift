import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// `auth.send` and `auth.flow = "basic"` through the real program.
@Suite(.serialized, .timeLimit(.minutes(1))) struct TokenPlaceTests {
  @Test(
    "38, 39: only pages and records by key carry the token, in the place of auth.send",
    arguments: ["PRIVATE-TOKEN: {access_token}", "?api_key={access_token}", "Cookie: a=b; session={access_token}; c=d"])
  func send(_ text: String) async throws {
    var tokens = Scenario.Tokens(flow: .oauth2Refresh, uses: [2])
    tokens.place = try #require(TokenPlace(text))
    try await withSite(.pages(3, tokens: tokens), settings: ["ROSTERD_LOG_LEVEL": "trace"]) { site in
      let first = try await site.sync()
      #expect(first.outcome == .published && first.refreshes == 1)
      site.upstream.update { $0.removeLast() }
      let outcome = try await site.rosterd("sync", "--json")
      #expect(try JSONDecoder().decode(SyncRecord.self, from: Data(outcome.output.utf8)).removed == 1)
      try await site.expectUpstream()
      let counts = site.upstream.counts
      // The question for the missing record, and the control question.
      #expect(counts.byIDRequests.count == 2 && counts.pages(answered: 401) == 1)
      for seen in counts.pageRequests + counts.byIDRequests {
        #expect(seen.generation != nil && seen["Authorization"] == nil, "\(seen.request.url)")
      }
      var shown = outcome.error + outcome.output
      for name in ["roster.db", "roster.db-wal", "roster.db.next"] {
        let file = FileManager.default.contents(atPath: "\(site.folder)/state/\(name)") ?? Data()
        shown += String(decoding: file, as: UTF8.self)
      }
      #expect(shown.contains("/character?page=1"))
      for secret in site.upstream.secrets { #expect(!shown.contains(secret)) }
    }
  }

  @Test("34, 35: basic sends user and password (RFC 7617); a wrong password is 77, and new bytes are used next")
  func basic() async throws {
    try await withSite(.pages(3, tokens: .init(flow: .basic))) { site in
      #expect(try await site.sync().outcome == .published)
      let credentials = site.upstream.credentials
      let pair = Data("\(credentials.username ?? ""):\(credentials.password ?? "")".utf8).base64EncodedString()
      #expect(site.upstream.counts.pageRequests.allSatisfy { $0["Authorization"] == "Basic \(pair)" })
      #expect(!FileManager.default.fileExists(atPath: site.tokenStore))
      let new = site.upstream.newSession().files
      let before = site.upstream.counts.pageRequests.count
      let refused = try await site.sync(exit: 77)
      #expect(refused.error?.contains("/username and password") == true && refused.error?.contains(pair) == false)
      #expect(site.upstream.counts.pageRequests.count == before + 1)
      try site.write(new)
      #expect(try await site.sync().outcome == .unchanged)
    }
  }

  @Test("basic without a username, or with a colon in it, is 78 before any request")
  func noUser() async throws {
    try await withSite(.pages(1, tokens: .init(flow: .basic))) { site in
      try Data("a:b".utf8).write(to: URL(filePath: "\(site.folder)/username"))
      let colon = try await site.rosterd("sync")
      #expect(colon.exit == 78 && colon.error.contains("a control character or a colon"))
      try FileManager.default.removeItem(atPath: "\(site.folder)/username")
      let missing = try await site.rosterd("sync")
      #expect(missing.exit == 78 && missing.error.contains("\(site.folder)/username"), "\(missing.error)")
      #expect(site.upstream.counts.pageRequests.isEmpty)
    }
  }

  @Test("54: SIGHUP applies auth.send, flow and proxy at once, also during a sync; a bad one changes nothing")
  func sendAndProxy() async throws {
    try await withSite(.pages(6, tokens: .init(flow: .static))) { site in
      func token(_ send: String, more: String = "") -> String {
        "[auth]\nflow = \"static\"\nsend = \"\(send)\"\n[sync]\nconcurrency = 1\n[upstream]\n\(more)\n"
      }
      try await ForwardProxy.run { proxy in
        site.upstream.hold(.page(3))
        try await site.withFile(token("Authorization: Bearer {access_token}")) { daemon, notify in
          try await site.upstream.waitFor { $0.held == 1 }
          site.upstream.configure { $0.tokens.place = TokenPlace(.parameter, name: "api_key") }
          try await site.reload(token("api_key {access_token}"), daemon: daemon, notify: notify)
          #expect(try await site.status().config.lastError?.contains("auth.send") == true)
          try await site.reload(
            token("?api_key={access_token}", more: "proxy = \"\(proxy.url)\""), daemon: daemon, notify: notify)
          #expect(try await site.status().config.lastError == nil)
          site.upstream.release()
          #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
          let seen = site.upstream.counts.pageRequests
          #expect(seen.prefix(3).allSatisfy { $0["Authorization"] != nil && !$0.request.url.contains("api_key=") })
          #expect(seen.dropFirst(3).allSatisfy { $0["Authorization"] == nil && $0.request.url.contains("&api_key=") })
          #expect(proxy.requests.count == 3 && seen.count == 6)

          let basic = "[auth]\nflow = \"basic\"\n[upstream]\nproxy = \"none\"\n"
          try await site.reload(basic, daemon: daemon, notify: notify)
          #expect(try await site.status().config.lastError?.contains("username") == true)
          site.upstream.configure { $0.tokens.flow = .basic }
          try site.write(site.upstream.newSession().files)
          try await site.reload(basic, daemon: daemon, notify: notify)
          #expect(try await site.rosterctl("sync", "--wait").exit == 0)
          #expect(try await site.status().token.flow == "basic" && proxy.requests.count == 3)
        }
      }
    }
  }
}
