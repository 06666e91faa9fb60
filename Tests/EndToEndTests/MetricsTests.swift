import FoundationEssentials
import RosterCore
import RosterSimulator
import RosterStatusClient
import Testing

@Suite(.serialized, .timeLimit(.minutes(1))) struct MetricsTests {
  @Test("The metrics of requests, retries and refreshes agree with upstream's counts, with a fault of each kind")
  func agree() async throws {
    let tokens = Scenario.Tokens(flow: .oauth2Refresh, uses: [5])
    let faults: [Rule] = [
      .on(.page(2), times: 1, .status(500)), .on(.page(3), times: 2, .status(503)),
      .on(.page(4), times: 1, .status(429)),
      .on(.page(5), times: 1, .cut(after: .half, .close)),
      .on(.page(6), times: 1, .cut(after: .head, .stall)),
      .on(.page(7), times: 1, .html()), .on(.anyToken, times: 1, .status(502)),
    ]
    // With one request at a time, the order of the pages decides which request gets the expired token. The timeout
    // suffices for every request except the stalled one, even on a busy machine.
    let settings = ["ROSTERD_SYNC_CONCURRENCY": "1", "ROSTERD_UPSTREAM_TIMEOUT": "10s"]
    try await withDaemon(.pages(9, tokens: tokens, rules: faults), settings: settings) { site, _, _ in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      site.upstream.release()
      site.upstream.endSession()
      site.upstream.killAccessTokens()
      #expect(try await site.rosterctl("sync", "--wait").exit == 77)

      let counts = site.upstream.counts
      let metrics = try await site.metrics()
      // An interrupted answer had a status when it left upstream.
      for (status, brokenOff) in [(200, 2), (401, 0), (429, 0), (500, 0), (503, 0)] {
        #expect(
          metrics[#"rosterd_requests_total{code="\#(status)"}"#] == counts.pages(answered: status) - brokenOff,
          "\(status)")
      }
      #expect(metrics[#"rosterd_requests_total{code="error"}"#] == 2)
      #expect(metrics["rosterd_request_duration_seconds_count"] == counts.pageRequests.count)
      for (reason, count) in [
        ("status_500", 1), ("status_503", 2), ("rate_limit", 1), ("truncated", 1), ("timeout", 1), ("malformed", 1),
      ] {
        #expect(metrics[#"rosterd_retries_total{reason="\#(reason)"}"#] == count, "\(reason)")
      }
      #expect(metrics.keys.count { $0.hasPrefix("rosterd_retries_total") } == 6)
      #expect(metrics[#"rosterd_token_refreshes_total{outcome="refreshed"}"#] == counts.tokensGranted)
      #expect(metrics[#"rosterd_token_refreshes_total{outcome="passing"}"#] == 1)
      #expect(metrics[#"rosterd_token_refreshes_total{outcome="refused"}"#] == 1)
      #expect(metrics[#"rosterd_syncs_total{outcome="published"}"#] == 1)
      #expect(metrics[#"rosterd_syncs_total{outcome="failed"}"#] == 1)
    }
  }
}

extension Site {
  /// Whole numbers by their name and labels.
  func metrics() async throws -> [String: Int] {
    let answer = try await StatusClient(socket: socket).send("GET", target: "/metrics")
    let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
    return Dictionary(
      uniqueKeysWithValues: lines.compactMap { line in
        let parts = line.split(separator: " ")
        return Int(parts[1]).map { (String(parts[0]), $0) }
      })
  }
}
