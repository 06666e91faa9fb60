import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

@Suite(.serialized, .timeLimit(.minutes(1))) struct QuietLogTests {
  @Test("A quiet log has one line for each sync at info, one more for a refresh, and none for retries")
  func lineASync() async throws {
    let tokens = Scenario.Tokens(flow: .oauth2Refresh, uses: [4])
    let faults: [Rule] = [
      .on(.page(2), times: 2, .status(500)), .on(.anyToken, times: 1, .status(503)),
      .on(.page(5), times: 1, .html()),
    ]
    try await withDaemon(.pages(8, tokens: tokens, rules: faults)) { site, daemon, _ in
      #expect(try await site.rosterctl("wait", "--timeout", "30s").exit == 0)
      for _ in 0..<3 { #expect(try await site.rosterctl("sync", "--wait").exit == 0) }
      let log = try await daemon.end(by: SIGTERM).error.split(separator: "\n")
      #expect(log.count { $0.contains("published") || $0.contains("nothing new") } == 4)
      #expect(log.count { $0.contains("upstream granted a new token") } == 1)
      #expect(log.count { $0.contains("stopping") } == 1)
      #expect(log.count == 6, "\(log.joined(separator: "\n"))")
    }
  }

  @Test("A quiet log reports syncs that fail repeatedly once, and reports their end")
  func upstreamDown() async throws {
    try await withDaemon(.pages(2, rules: [.on(.anyPage, .status(500))])) { site, daemon, _ in
      for _ in 0..<5 { #expect(try await site.rosterctl("sync", "--wait").exit == 69) }
      site.upstream.configure { $0.rules = [] }
      #expect(try await site.rosterctl("sync", "--wait").exit == 0)
      let log = try await daemon.end(by: SIGTERM).error.split(separator: "\n")
      let failures = log.filter { $0.contains("sync failed") }
      #expect(failures.count == 1 && failures[0].contains("error") && failures[0].contains("500"))
      #expect(log.contains { $0.contains("notice") && $0.contains("syncs end well again") })
      #expect(log.count == 4, "\(log.joined(separator: "\n"))")
    }
  }
}
