import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterStatus

@Suite struct MetricsTests {
  private func lines(_ board: StatusBoard) -> [Substring] { board.metricsText().split(separator: "\n") }

  @Test("The metrics count requests, retries, refreshes and syncs by their labels")
  func counts() {
    let clock = ManualClock()
    let board = makeBoard(clock: clock, cache: snapshot)
    board.metrics.request(code: 200, seconds: 0.02, bytes: 1000)
    board.metrics.request(code: 200, seconds: 7, bytes: 500)
    board.metrics.request(code: nil, seconds: 30, bytes: 0)
    board.report(Event(.pageRetried, reason: "timeout"))
    board.report(Event(.tokenRefreshed))
    board.report(Event(.tokenFailed, reason: "passing"))
    board.syncBegan(SyncRecord(id: 17, startedAt: ""), tally: Tally())
    clock.advance(by: .milliseconds(400))
    board.syncEnded(makeReport(), cache: nil)
    board.report(Event(.syncPublished, report: makeReport()))
    let lines = lines(board)
    for line in [
      #"rosterd_requests_total{code="200"} 2"#, #"rosterd_requests_total{code="error"} 1"#,
      #"rosterd_retries_total{reason="timeout"} 1"#, #"rosterd_token_refreshes_total{outcome="refreshed"} 1"#,
      #"rosterd_token_refreshes_total{outcome="passing"} 1"#, #"rosterd_syncs_total{outcome="published"} 1"#,
      #"rosterd_syncs_total{outcome="failed"} 0"#, "rosterd_received_bytes_total 1500",
      #"rosterd_records{resource="character"} 826"#,
      "rosterd_snapshot_timestamp_seconds 1699999999.4", #"rosterd_build_info{version="0.1.0"} 1"#,
      #"rosterd_sync_duration_seconds_bucket{le="0.25"} 0"#, #"rosterd_sync_duration_seconds_bucket{le="0.5"} 1"#,
      #"rosterd_request_duration_seconds_bucket{le="0.025"} 1"#,
      #"rosterd_request_duration_seconds_bucket{le="10"} 2"#,
      #"rosterd_request_duration_seconds_bucket{le="+Inf"} 3"#, "rosterd_request_duration_seconds_count 3",
      "process_start_time_seconds 1700000000",
    ] {
      #expect(lines.contains(line[...]), "\(line)")
    }
  }

  @Test("The metrics of the running sync's pages are those of its tally")
  func progress() {
    let board = makeBoard()
    board.syncBegan(SyncRecord(id: 1, startedAt: ""), tally: tally(pages: 17, of: 42))
    #expect(lines(board).contains("rosterd_sync_pages_done 17"))
    #expect(lines(board).contains("rosterd_sync_pages 42"))
  }

  @Test("A clock that is set does not change the measured duration of syncs")
  func durations() {
    let clock = ManualClock()
    let board = makeBoard(clock: clock)
    for step in [-3600.0, 3600] {
      board.syncBegan(SyncRecord(id: 1, startedAt: ""), tally: Tally())
      clock.set(by: step)
      clock.advance(by: .seconds(2))
      board.syncEnded(makeReport(), cache: snapshot)
    }
    // A sync that could not begin has ended, too.
    board.syncEnded(makeReport(18, outcome: .failed), cache: nil)
    #expect(lines(board).contains("rosterd_sync_duration_seconds_sum 4"))
    #expect(lines(board).contains("rosterd_sync_duration_seconds_count 3"))
  }

  @Test("The metrics have the state, and the times that alerts need, if they are known")
  func moments() {
    let board = makeBoard()
    #expect(lines(board).contains("rosterd_verified_timestamp_seconds 0"))
    #expect(lines(board).contains(#"rosterd_state{state="starting"} 1"#))
    #expect(!board.metricsText().contains("rosterd_next_sync") && !board.metricsText().contains("rosterd_token_expiry"))
    board.syncEnded(makeReport(17, outcome: .failed), cache: snapshot)
    board.nextSync(at: Date(timeIntervalSince1970: 1_700_000_900))
    var token = TokenStatus(flow: "oauth2_refresh", state: .valid)
    token.expiresAt = Date(timeIntervalSince1970: 1_700_003_600).rfc3339
    board.token(token)
    for line in [
      "rosterd_verified_timestamp_seconds 1699999999.4", "rosterd_next_sync_timestamp_seconds 1700000900",
      "rosterd_token_expiry_timestamp_seconds 1700003600", #"rosterd_state{state="degraded"} 1"#,
      #"rosterd_state{state="idle"} 0"#,
    ] {
      #expect(lines(board).contains(line[...]), "\(line)")
    }
    #expect(lines(board).count { $0.hasPrefix("rosterd_state{") } == DaemonStatus.State.allCases.count)
    board.syncBegan(SyncRecord(id: 18, startedAt: ""), tally: Tally())
    #expect(!board.metricsText().contains("rosterd_next_sync"))
  }

  @Test("Every metric family has one HELP and one TYPE, before its samples, and there is no other metric")
  func form() {
    var families: [Substring] = []
    for line in lines(makeBoard()) {
      if line.hasPrefix("# HELP ") {
        families.append(line.split(separator: " ")[2])
      } else if line.hasPrefix("# TYPE ") {
        #expect(line.split(separator: " ")[2] == families.last)
      } else {
        #expect(line.hasPrefix(families.last ?? "none"))
      }
    }
    #expect(
      families.sorted() == [
        "process_cpu_seconds_total", "process_open_fds", "process_resident_memory_bytes",
        "process_start_time_seconds", "rosterd_build_info", "rosterd_config_refused", "rosterd_lists",
        "rosterd_missed_total", "rosterd_received_bytes_total", "rosterd_records",
        "rosterd_request_duration_seconds", "rosterd_requests_total", "rosterd_retries_total",
        "rosterd_snapshot_timestamp_seconds", "rosterd_state", "rosterd_sync_duration_seconds", "rosterd_sync_pages",
        "rosterd_sync_pages_done", "rosterd_syncs_total", "rosterd_token_refreshes_total",
        "rosterd_validators_trusted", "rosterd_verified_timestamp_seconds", "rosterd_whole_timestamp_seconds",
      ])
  }

  @Test("The process metrics are those of this process")
  func process() {
    let facts = ProcessFacts.now
    #expect(facts.residentBytes > 1 << 20)
    #expect(facts.cpuSeconds > 0)
    #expect(facts.openDescriptors >= 3)
  }

  @Test("Label values of metrics are escaped")
  func escapes() {
    var text = PrometheusText()
    text.sample("a", labels: [("b", "\"\\\n")], value: 1)
    #expect(text.text == #"a{b="\"\\\n"} 1"# + "\n")
  }
}
