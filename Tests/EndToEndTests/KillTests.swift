import Dispatch
import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// The state after SIGKILL.
@Suite(.serialized, .timeLimit(.minutes(5))) struct KillTests {
  private static let pages = 12

  @Test("2: killed at fifteen moments of pulling and publishing, the cache has one whole version")
  func anyMoment() async throws {
    var dice = SeededDice(seed: 3)
    try await withSite(.pages(Self.pages)) { site in
      site.upstream.update { characters in characters = characters.map { $0.marked(0) } }
      _ = try await site.sync()
      var (published, midPull) = (0, 0)
      for version in 1...15 {
        site.upstream.update { characters in characters = characters.map { $0.marked(version) } }
        let moment = Moment(&dice, pages: Self.pages)
        if case .requested = moment { midPull += 1 }
        try await kill(site, at: moment)
        let found = try await wholeVersion(site)
        #expect(found == published || found == version, "version \(version)")
        published = found
      }
      #expect(try await site.sync().exit == 0)
      try await site.expectUpstream()
      let killed = try await site.rows("SELECT count(*) FROM syncs WHERE outcome = 'interrupted'")
      #expect(midPull > 3 && Int(killed[0][0]) ?? 0 >= midPull)
      #expect(try await site.rows("SELECT count(*) FROM syncs WHERE outcome = 'running'") == [["0"]])
    }
  }

  /// Time of the kill: after a number of page requests, or when the log has reached a size during the publish.
  private enum Moment {
    case requested(Int)
    case written(Int64)

    init(_ dice: inout SeededDice, pages: Int) {
      self =
        Bool.random(using: &dice)
        ? .requested(.random(in: 1...pages, using: &dice)) : .written(.random(in: 1...400_000, using: &dice))
    }
  }

  private func kill(_ site: Site, at moment: Moment) async throws {
    let before = site.upstream.counts.pageRequests.count
    if case .requested(let count) = moment { site.upstream.hold(.request(before + count)) }
    let sync = try site.start("sync")
    switch moment {
    case .requested: try await site.upstream.waitFor { $0.held == 1 }
    case .written(let bytes):
      try await site.upstream.waitFor { $0.pageRequests.count == before + Self.pages }
      await log(of: site, reaches: bytes, orEnds: sync)
    }
    _ = try await sync.end(by: SIGKILL)
    site.upstream.release()
  }

  /// The publish takes milliseconds, so the log is polled without a pause.
  private func log(of site: Site, reaches bytes: Int64, orEnds program: Program) async {
    let path = "\(site.cache)-wal"
    await withCheckedContinuation { met in
      DispatchQueue(label: "log").async {
        var about = stat()
        while program.isRunning, stat(path, &about) != 0 || Int64(about.st_size) < bytes { sched_yield() }
        met.resume()
      }
    }
  }

  /// The version of all rows and of the index.
  private func wholeVersion(_ site: Site) async throws -> Int {
    #expect(try await site.rows("PRAGMA integrity_check") == [["ok"]])
    let versions = try await site.rows(
      """
      SELECT substr(name, instr(name, '·v') + 2) FROM characters UNION SELECT substr(created, instr(created, '·v') + 2) FROM characters
      UNION SELECT substr(url, instr(url, '·v') + 2) FROM character_episodes
      UNION SELECT substr(after ->> 'name', instr(after ->> 'name', '·v') + 2) FROM changes
        WHERE sync_id = (SELECT snapshot FROM cache_info)
      """)
    #expect(versions.count == 1)
    let version = try #require(Int(versions.first?.first ?? ""))
    let indexed = try await site.rows("SELECT count(*) FROM characters_fts WHERE characters_fts MATCH 'v\(version)'")
    #expect(indexed == [["\(Self.pages * 20)"]])
    #expect(try await site.rows("SELECT records FROM cache_info") == [["\(Self.pages * 20)"]])
    return version
  }

  @Test("40: pages that a killed sync had stored are requested conditionally", arguments: [true, false])
  func resumed(asDaemon: Bool) async throws {
    try await withSite(.pages(Self.pages)) { site in
      site.upstream.hold(.pages(8...Self.pages))
      let staged =
        asDaemon ? try await killDaemon(site) : try await kill(site, program: try site.start("sync"))
      let before = site.upstream.counts.pageRequests.count
      site.upstream.release()
      let report = try await site.sync()
      #expect(report.outcome == .published && report.resumed >= staged && report.notModified >= staged)
      let again = site.upstream.counts.pageRequests.dropFirst(before)
      #expect(again.count == Self.pages)
      #expect(again.filter { $0.status == 304 }.count == report.notModified)
      #expect(again.filter { $0["If-None-Match"] != nil }.allSatisfy { $0.status == 304 })
      try await site.expectUpstream()
    }
  }

  private func killDaemon(_ site: Site) async throws -> Int {
    var staged = 0
    try await site.withDaemon { daemon, _ in staged = try await kill(site, program: daemon) }
    return staged
  }

  /// Kills the program when seven pages are stored, which are all that were received.
  private func kill(_ site: Site, program: Program) async throws -> Int {
    try await site.upstream.waitFor { $0.held == Self.pages - 7 }
    // No event reports that the pages are in the file, so its size is polled.
    while try await kept(site) < 7 { await Task.yield() }
    _ = try await program.end(by: SIGKILL)
    return try await kept(site)
  }

  /// Number of pages in the file of pulled pages.
  private func kept(_ site: Site) async throws -> Int {
    let found = try await site.rows("SELECT count(*) FROM page", of: site.cache + ".next")
    return Int(found[0][0]) ?? 0
  }

  @Test("40: kept pages without a validator are reused without a request")
  func takenOver() async throws {
    var scenario = Scenario.pages(Self.pages)
    scenario.validators = .none
    try await withSite(scenario) { site in
      site.upstream.hold(.pages(8...Self.pages))
      let staged = try await kill(site, program: try site.start("sync"))
      let before = site.upstream.counts.pageRequests.count
      site.upstream.release()
      let report = try await site.sync()
      // Page 1 is always requested.
      #expect(report.resumed == staged - 1 && report.requests == Self.pages - staged + 1)
      #expect(site.upstream.counts.pageRequests.count - before == report.requests)
      try await site.expectUpstream()
    }
  }
}
