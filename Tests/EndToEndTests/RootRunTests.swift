import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// A sync by root beside a service of another user.
@Suite(.timeLimit(.minutes(1))) struct RootRunTests {
  private static let scenario = Scenario.pages(2, tokens: .init(flow: .oauth2Refresh, uses: [1]))

  /// Gives the cache's folder to another user, as an installation does. Returns the prefix that runs a command as that
  /// user.
  private func handOver(_ site: Site) throws -> [String] {
    let user = try Stranger.prefix(user: Stranger.owner, group: Stranger.group)
    try FileManager.default.createDirectory(atPath: "\(site.folder)/state", withIntermediateDirectories: true)
    try Stranger.open(site)
    try #require(chown("\(site.folder)/state", Stranger.owner, Stranger.group) == 0)
    return user
  }

  private func sync(_ site: Site, as user: [String]) async throws -> Program.Outcome {
    try await Program.run(
      user[0], arguments: user.dropFirst() + [try Program.built("rosterd"), "sync"], environment: site.settings)
  }

  private func expectHandedOver(_ site: Site, names: Set<String>) throws {
    let found = try site.names()
    #expect(names.isSubset(of: found), "\(found)")
    for name in found {
      var about = stat()
      try #require(lstat("\(site.folder)/state/\(name)", &about) == 0)
      #expect([about.st_uid, about.st_gid] == [Stranger.owner, Stranger.group], "\(name)")
    }
  }

  @Test("42: files of root's sync and daemon belong to the owner of the folder, whose syncs go on with them")
  func handedOver() async throws {
    try await withSite(Self.scenario, settings: ["ROSTERD_LIMIT_BUDGET": "1000/1h"]) { site in
      let user = try handOver(site)
      #expect(try await site.rosterd("sync", "--dry-run").exit == 0)
      #expect(try await site.rosterd("sync").exit == 0)
      // The first token belongs to the session of the other base_url.
      let elsewhere = ["ROSTERD_UPSTREAM_BASE_URL": "http://127.0.0.1:1/api", "ROSTERD_RETRY_MAX_RETRIES": "0"]
      #expect(try await site.rosterd("sync", with: elsewhere).exit == 77)
      let cache = ["", "-wal", "-shm", ".lock", ".next", ".next-wal", ".next-shm", ".published", ".budget", ".trouble"]
        .map { "roster.db\($0)" }
      try expectHandedOver(site, names: Set(cache + ["token.json", "token.json.lock"]))
      var daemon = site
      daemon.settings["ROSTERD_STATUS_SOCKET"] = "\(site.folder)/state/status.sock"
      try await daemon.withDaemon { _, _ in try expectHandedOver(site, names: ["status.sock"]) }
      let outcome = try await sync(site, as: user)
      #expect(outcome.exit == 0, "\(outcome.error)")
    }
  }

  @Test(
    "For a file of root's the message of 73 says that rosterd's user must be able to write it",
    arguments: ["roster.db", "roster.db.lock", "roster.db.next", "token.json", "token.json.lock"])
  func refused(name: String) async throws {
    try await withSite(Self.scenario) { site in
      let user = try handOver(site)
      #expect(try await site.rosterd("sync").exit == 0)
      let path = "\(site.folder)/state/\(name)"
      try #require(chown(path, 0, 0) == 0)
      let outcome = try await sync(site, as: user)
      #expect(outcome.exit == 73, "\(outcome.error)")
      #expect(outcome.error.contains("must be able to write the file and its folder, not only read them"))
      let command = try #require(outcome.error.firstMatch(of: /chown --reference=\S+ \S+\*/)).output
      // The shell expands the asterisk.
      #expect(try await Program.run("/bin/sh", arguments: ["-c", String(command)]).exit == 0)
      let mended = try await sync(site, as: user)
      #expect(mended.exit == 0, "\(mended.error)")
    }
  }
}
