import Testing

@testable import RosterCore

/// The text of `rosterctl explain` for each kind of event.
@Suite struct ExplanationTests {
  private static let reasons: [Failure.Reason] = [
    .connection, .dns, .tls, .timeout, .truncated, .malformed, .tooLarge, .partialAnswer, .clientCertificate,
    .rateLimit,
    .status(100), .status(204),
    .status(304), .status(400), .status(403), .status(404), .status(408), .status(409), .status(410), .status(418),
    .status(451), .status(500), .status(501), .status(503), .status(599),
  ]

  /// A new reason makes this switch incomplete, so the compiler reminds its author.
  private static func isListed(_ reason: Failure.Reason) -> Bool {
    switch reason {
    case .connection, .dns, .tls, .timeout, .truncated, .malformed, .tooLarge, .partialAnswer, .clientCertificate,
      .rateLimit:
      reasons.contains(reason)
    case .status: reasons.contains { if case .status = $0 { true } else { false } }
    }
  }

  private func situation(_ failure: Failure, outcome: SyncRecord.Outcome = .failed) -> Situation {
    var last = SyncRecord(id: 18, startedAt: "2026-11-21T05:19:03.000Z", outcome: outcome)
    last.finishedAt = "2026-11-21T05:19:04.000Z"
    last.exit = failure.kind.exitCode
    last.error = "\(failure)"
    last.trouble = Diagnosis(failure)
    last.trouble?.since = "2026-11-21T05:19:04.000Z"
    var cache = CacheFacts(snapshot: 17, publishedAt: "2026-11-21T05:00:00.000Z", records: 826, pages: 42)
    cache.last = last
    return Situation(.init(after: last, resources: cache.resources), cache: cache, path: "/cache/roster.db")
  }

  private func failure(_ kind: Failure.Kind = .unreachable, reason: Failure.Reason? = nil) -> Failure {
    Failure(
      kind, step: "pull page 17 of character", subject: "https://up.example/api/character?page=17",
      cause: "upstream answered 500", hint: "see whether upstream is healthy", reason: reason)
  }

  private func expectNextStep(_ explanation: Explanation, sourceLocation: SourceLocation = #_sourceLocation) {
    for text in [explanation.what, explanation.todo, explanation.readers] {
      #expect(!text.isEmpty && !text.contains("{") && !text.contains("}"), "\(text)", sourceLocation: sourceLocation)
      #expect(!text.contains("\n") && !text.contains("  "), "\(text)", sourceLocation: sourceLocation)
    }
    #expect(explanation.todo != "Nothing.", sourceLocation: sourceLocation)
  }

  @Test("47: distrusted validators are explained, also after successful syncs")
  func distrusted() {
    var resource = DaemonStatus.CachedResource(
      name: "pilot", table: "pilots", records: 8, pages: 4, proof: "weak", absent: 0)
    resource.validators = "distrusted"
    resource.distrustedSince = "2026-11-21T05:00:00.000Z"
    let cache = CacheFacts(snapshot: 17, publishedAt: "2026-11-21T05:00:00.000Z", records: 8, resources: [resource])
    let explanation = Explanation(Situation(.idle, cache: cache, path: "/cache/roster.db"))
    expectNextStep(explanation)
    #expect(explanation.what.contains("pilot since 2026-11-21T05:00:00.000Z"))
    #expect(explanation.todo.contains("rosterctl sync --fresh"))
    #expect(explanation.concerned == [.resource("pilot")])
  }

  @Test("21, 47: missed records are explained, with the keys that find them sooner")
  func missed() {
    var resource = DaemonStatus.CachedResource(
      name: "pilot", table: "pilots", records: 8, pages: 4, proof: "since", absent: 0)
    resource.missed = 3
    let cache = CacheFacts(snapshot: 17, publishedAt: "2026-11-21T05:00:00.000Z", records: 8, resources: [resource])
    let explanation = Explanation(Situation(.idle, cache: cache, path: "/cache/roster.db"))
    expectNextStep(explanation)
    #expect(explanation.what.contains("3 of pilot"))
    #expect(explanation.todo.contains("overlap or a shorter whole_every in [resource.pilot.since]"))
  }

  @Test("21: each resource with missed records gets advice about a table that it has")
  func missedOfBoth() {
    let resources = ["crew", "pilot"].map { name in
      var resource = DaemonStatus.CachedResource(
        name: name, table: name, records: 8, pages: 4, proof: "end", absent: 0)
      (resource.missed, resource.hasSince) = (3, name == "pilot")
      return resource
    }
    let cache = CacheFacts(snapshot: 17, publishedAt: "2026-11-21T05:00:00.000Z", records: 8, resources: resources)
    let explanation = Explanation(Situation(.idle, cache: cache, path: "/cache/roster.db"))
    expectNextStep(explanation)
    #expect(explanation.what.contains("3 of pilot") && explanation.what.contains("3 of crew"))
    #expect(explanation.todo.contains("[resource.pilot.since]") && explanation.todo.contains("[resource.crew.each]"))
    #expect(!explanation.todo.contains("[resource.crew.since]"))
    #expect(explanation.concerned == [.resource("pilot"), .resource("crew")])
  }

  @Test("47: rejected records are explained beside another trouble of the same sync")
  func rejectsBesideOthers() {
    var situation = situation(failure(), outcome: .published)
    situation.cache.last?.trouble = Diagnosis(.unasked, "not all could be asked for", [.resource("item")])
    situation.cache.last?.trouble?.others = [Diagnosis(.rejects, "1 record could not be stored")]
    situation.rejected = [.record("bad", of: "thing", page: 1, position: 7, reason: "title is not a string")]
    let explanation = Explanation(situation)
    expectNextStep(explanation)
    #expect(explanation.what.contains("but: not all could be asked for."))
    #expect(
      explanation.what.contains("1 record could not be stored.") && explanation.todo.contains("rosterctl rejects"))
    #expect(explanation.concerned == [.resource("item")] + situation.rejected)
  }

  @Test("47: a record with and without a reason is concerned once")
  func concernedOnce() {
    var situation = situation(failure(), outcome: .published)
    let known = AffectedItem.record("9", of: "item", reason: "upstream lists it no more")
    let other = AffectedItem.record("9", of: "item", reason: "upstream answered 500")
    situation.cache.last?.trouble = Diagnosis(.unasked, "not all", [.record("9", of: "item"), known, known, other])
    #expect(Explanation(situation).concerned == [known, other])
  }

  @Test("47: failed and vanished lists are explained with the keys of the parents, also after successful syncs")
  func lists() {
    var resource = DaemonStatus.CachedResource(
      name: "comment", table: "comments", records: 8, pages: 4, proof: "end", absent: 0)
    var lists = DaemonStatus.CachedLists()
    (lists.total, lists.failed, lists.vanished) = (40, 1, 2)
    (resource.parent, resource.lists) = ("issue", lists)
    var cache = CacheFacts(snapshot: 17, publishedAt: "2026-11-21T05:00:00.000Z", records: 8, resources: [resource])
    cache.failedLists = [
      FailedList(of: "comment", parent: "issue", keys: "x/y 5", hasVanished: false, reason: "upstream answered 403"),
      FailedList(of: "comment", parent: "issue", keys: "x/y 7", hasVanished: true, reason: "upstream answered 404"),
    ]
    let situation = Situation(.idle, cache: cache, path: "/cache/roster.db")
    let explanation = Explanation(situation)
    expectNextStep(explanation)
    #expect(explanation.what.contains("Lists have failed: 1 of 40 lists of comment."))
    #expect(explanation.what.contains("The parents of lists have disappeared: 2 of 40 lists of comment."))
    #expect(explanation.todo.contains("set no_records = [404] in [resource.comment]"))
    #expect(
      explanation.concerned == [
        .resource("comment"), .record("x/y 5", of: "issue", reason: "upstream answered 403"),
        .record("x/y 7", of: "issue", reason: "upstream answered 404"),
      ])
    // The text of the last sync's own trouble is not repeated.
    var last = SyncRecord(id: 18, startedAt: "", outcome: .published)
    (last.error, last.exit) = ("1 of 3 lists of comment failed", 0)
    last.trouble = Diagnosis(.failedLists, "1 of 3 lists of comment failed", [.resource("comment")])
    cache.last = last
    let what = Explanation(Situation(.degraded, cache: cache, path: "/cache/roster.db")).what
    #expect(what.contains("1 of 3 lists of comment failed") && !what.contains("Lists have failed"))
  }

  @Test("Each exit code with each reason is explained, with its time and a next step")
  func everyFailure() {
    for kind in Failure.Kind.allCases {
      for reason in [nil] + Self.reasons {
        if let reason { #expect(Self.isListed(reason)) }
        let explanation = Explanation(situation(failure(kind, reason: reason)))
        expectNextStep(explanation)
        #expect(explanation.what.hasPrefix("Sync 18 failed: cannot pull page 17 of character (https://up"))
        #expect(explanation.since == "2026-11-21T05:19:04.000Z")
        #expect(explanation.concerned == [.address("https://up.example/api/character?page=17")])
        #expect(explanation.state == (kind == .refused ? .unauthorized : .degraded))
      }
    }
  }

  @Test("Each kind of failure has its own meaning and its own next step, also without concerned items")
  func everyTrouble() {
    let all: [[AffectedItem]] = [
      [], [.page(17, of: "character", url: "https://up.example:8443/api?page=17"), .file("/cache/roster.db")],
    ]
    for trouble in Diagnosis.Kind.allCases {
      for concerned in all {
        var failure = failure().with(trouble, concerned)
        if concerned.isEmpty { failure.subject = "rosterd" }
        expectNextStep(Explanation(situation(failure)))
      }
    }
    let texts = Diagnosis.Kind.allCases.map(\.text)
    #expect(Set(texts.map(\.meaning)).count == texts.count)
    #expect(Set(texts.map(\.todo)).count == texts.count)
  }

  @Test("A more precise hint of the failed part comes first, and commands name the concerned items")
  func concrete() {
    let file = "/etc/rosterd/credentials/refresh_token"
    var ended = failure(.refused).with(.session, [.file(file)])
    ended.hint = "put a valid \(file) and reload (or start) rosterd"
    #expect(Explanation(situation(ended)).todo.hasPrefix("Put a valid \(file) and reload (or start) rosterd. Get the"))
    let timeout = Explanation(situation(failure(.unreachable, reason: .timeout)))
    #expect(timeout.todo.contains("time curl -o /dev/null 'https://up.example/api/character?page=17'"))
    let tls = failure().with(.tls, [.address("https://up.example/api")])
    #expect(Explanation(situation(tls)).todo.contains("-connect up.example:443"))
    let other = failure().with(.tls, [.address("https://up.example:8443/api")])
    #expect(Explanation(situation(other)).todo.contains("-connect up.example:8443"))
  }

  @Test("A 403, a 404 and a 503 have three explanations; one outage has one, however it shows")
  func kinds() {
    #expect(Failure.Reason.status(403).trouble == .forbidden && Failure.Reason.status(404).trouble == .notFound)
    let outage: [Failure.Reason] = [.connection, .dns, .tls, .timeout, .truncated, .status(500), .status(503)]
    #expect(Set(outage.map(\.trouble.family)) == [.connection])
    #expect(Failure.Reason.rateLimit.trouble.family == Diagnosis.Kind.held.family)
    #expect(Diagnosis.Kind.guarded.family != Diagnosis.Kind.malformed.family)
  }

  @Test("Each state is explained, also without a failure", arguments: DaemonStatus.State.allCases)
  func states(state: DaemonStatus.State) {
    var situation = Situation(state, cache: CacheFacts(), path: "/cache/roster.db")
    var explanation = Explanation(situation)
    #expect(explanation.readers == "There is no snapshot yet: the tables are empty.")
    #expect(explanation.since == nil && explanation.concerned.isEmpty && explanation.todo.hasPrefix("Nothing"))
    situation.cache.older = .read
    #expect(Explanation(situation).readers.hasPrefix("They see the cache of an older rosterd"))
    situation.sync.nextAt = "2026-11-21T05:34:04.000Z"
    situation.cache = CacheFacts(
      snapshot: 17, publishedAt: "2026-11-21T05:00:00.000Z", verifiedAt: "2026-11-21T05:15:00.000Z", records: 826)
    explanation = Explanation(situation)
    #expect(
      explanation.readers
        == "They see the snapshot of sync 17, whole: 826 records, published at 2026-11-21T05:00:00.000Z, and upstream had the same at 2026-11-21T05:15:00.000Z."
    )
    #expect(explanation.nextAt == "2026-11-21T05:34:04.000Z")
  }

  @Test("A refused reload, a blocking reader, absent records and a sync that hangs are explained beside the state")
  func beside() {
    var all = situation(failure(.unreachable, reason: .status(503)))
    all.config = ("/etc/rosterd/rosterd.toml", "/etc/rosterd/rosterd.toml:2: sync.interval is too short")
    all.cache.isWALPinned = true
    all.cache.resources = [.init(name: "issue", table: "issues", records: 9, pages: 1, proof: "weak", absent: 2)]
    all.sync.stalledSince = "2026-11-21T05:20:00.000Z"
    let explanation = Explanation(all)
    for what in ["Sync 18 failed", "sync.interval is too short", "log cannot", "2 of issue", "Nothing has moved"] {
      #expect(explanation.what.contains(what))
    }
    for file in ["/etc/rosterd/rosterd.toml", "/cache/roster.db-wal"] {
      #expect(explanation.concerned.contains(.file(file)) && explanation.todo.contains(file))
    }
    #expect(explanation.since == "2026-11-21T05:19:04.000Z")
  }

  @Test("47: explain begins with a refused reload, does not say that all is well, and names the unit")
  func refusedReload() {
    let last = SyncRecord(id: 3, startedAt: "2026-11-21T05:19:03.000Z", outcome: .published)
    var idle = Situation(.idle, cache: CacheFacts(last: last), path: "/cache/roster.db")
    #expect(Explanation(idle).what == "All is well: sync 3 published what has changed upstream.")
    idle.config = ("/etc/rosterd/stage.toml", "/etc/rosterd/stage.toml:2: sync.interval is too short")
    idle.unit = "rosterd@stage"
    let file = Explanation(idle)
    #expect(file.what.hasPrefix("The new configuration was refused: /etc/rosterd/stage.toml:2: sync.interval"))
    #expect(file.what.hasSuffix("Sync 3 published what has changed upstream.") && !file.what.contains("All is well"))
    #expect(file.todo.contains("rosterd check --config /etc/rosterd/stage.toml, then systemctl reload rosterd@stage."))
    var missing = Failure(
      .configuration, step: "read a credential", subject: "/etc/credstore/rosterd.stage.password", cause: "it is empty")
    missing.trouble = .missingCredential
    idle.refusal = missing
    let credential = Explanation(idle)
    #expect(credential.concerned == [.file("/etc/credstore/rosterd.stage.password")])
    #expect(credential.todo.hasPrefix("Correct /etc/credstore/rosterd.stage.password, "))
  }

  @Test(
    "47: a service that has failed is neither idle nor starting",
    arguments: [.idle, .starting] as [DaemonStatus.State])
  func failedService(state: DaemonStatus.State) {
    var situation = Situation(state, cache: CacheFacts(), path: "/cache/roster.db")
    situation.failed = ServiceFailure(unit: "rosterd", at: nil, result: "exit-code", exitStatus: 243, status: "")
    #expect(Explanation(situation).state == .degraded)
    #expect(Explanation(situation).todo.contains("a plain file in /etc/credstore.encrypted"))
    situation.failed?.exitStatus = 78
    #expect(!Explanation(situation).todo.contains("credstore"))
  }

  @Test("A budget that is not enough, and a time that upstream asked for, are explained without a failed sync")
  func waiting() {
    var budget = Situation(.starting, cache: CacheFacts(), path: "/cache/roster.db")
    budget.sync.heldBy = "limit.budget"
    budget.upstream.budget = .init(limit: 100, windowSeconds: 86_400, used: 99)
    #expect(Explanation(budget).what.contains("99 of 100 requests are used"))
    #expect(Explanation(budget).concerned == [.setting("limit.budget")])
    var held = Situation(.idle, cache: CacheFacts(), path: "/cache/roster.db")
    held.upstream.heldUntil = "2026-11-21T06:00:00.000Z"
    #expect(Explanation(held).what.contains("before 2026-11-21T06:00:00.000Z"))
    #expect(Explanation(held).concerned == [.header("Retry-After")])
  }

  @Test("A session that ended is explained by the token's error if no sync has one")
  func session() {
    var situation = Situation(.unauthorized, cache: CacheFacts(), path: "/cache/roster.db")
    situation.tokenError = "cannot get a new access token (http://up/token): upstream refuses the refresh token (401)"
    let explanation = Explanation(situation)
    #expect(explanation.what.contains("refuses the refresh token (401)") && explanation.todo.hasPrefix("Get the new"))
  }

  @Test("Rejected records are named, each with its reason")
  func rejects() {
    var last = SyncRecord(id: 3, startedAt: "2026-11-21T05:19:03.000Z", outcome: .published)
    (last.rejected, last.exit, last.error) = (1, 0, "1 record could not be stored; rosterctl rejects shows why")
    var situation = Situation(.degraded, cache: CacheFacts(last: last), path: "/cache/roster.db")
    situation.rejected = [.record("5", of: "character", page: 1, position: 4, reason: "/name is not a string")]
    let explanation = Explanation(situation)
    #expect(explanation.concerned == situation.rejected)
    #expect(explanation.what.hasPrefix("Sync 3 has gone well, but: 1 record could not be stored"))
    #expect(explanation.todo.contains("rosterctl rejects"))
  }

  @Test("An address of upstream's cannot leave its quotes in a command that is pasted into a shell")
  func quoted() {
    var trouble = failure(.unreachable, reason: .connection)
    trouble.subject = "http://a.example/x?c=1';touch$IFS/tmp/x;'"
    let todo = Explanation(situation(trouble)).todo
    #expect(todo.contains("curl -i 'http://a.example/x?c=1%27;touch$IFS/tmp/x;%27'"), "\(todo)")
  }

  @Test(
    "A command for the request of a POST sends its body, which cannot leave its quotes; curl's own type is that of a form",
    arguments: [
      (#"{"q":"it's"}"#, #"curl -H 'Content-Type: application/json' --data-raw '{"q":"it'\''s"}'"#),
      ("q=it%27s&n=1", "curl --data-raw 'q=it%27s&n=1'"),
    ])
  func post(body: String, command: String) {
    var trouble = failure(.badAnswer, reason: .malformed)
    trouble.concerned = [.page(1, of: "doc", url: "http://a.example/search", body: body)]
    let todo = Explanation(situation(trouble)).todo
    #expect(todo.contains(command + " 'http://a.example/search'"), "\(todo)")
  }

  @Test(
    "A command for a request has the place of the token, and one for the token endpoint has not",
    arguments: [
      (TokenPlace.bearer, "curl -i -H 'Authorization: Bearer {access_token}' 'https://up.example/x?page=1'"),
      (.basic, "curl -i -u 'USER:PASSWORD' 'https://up.example/x?page=1'"),
      (TokenPlace(.parameter, name: "key"), "curl -i 'https://up.example/x?page=1&key={access_token}'"),
    ])
  func secrets(place: TokenPlace, command: String) {
    var trouble = failure(.unreachable, reason: .connection)
    trouble.concerned = [.page(1, of: "x", url: "https://up.example/x?page=1")]
    var situation = situation(trouble)
    situation.secrets = [place]
    #expect(Explanation(situation).todo.contains(command), "\(Explanation(situation).todo)")
    situation = self.situation(trouble.with(.tokenUnreachable))
    situation.secrets = [place]
    #expect(Explanation(situation).todo.contains("curl -i 'https://up.example/x?page=1'"))
  }

  @Test("Without a daemon that is explained first, then the cache")
  func silence() {
    var alone = situation(failure(.unreachable, reason: .connection))
    alone.silence = Failure(
      .noDaemon, step: "ask the daemon", subject: "/run/rosterd/status.sock", cause: "no daemon answers", hint: "look")
    let explanation = Explanation(alone)
    #expect(explanation.what.hasPrefix("No daemon answers (/run/rosterd/status.sock). This is what the cache tells."))
    #expect(explanation.what.contains("Sync 18 failed: "))
    #expect(explanation.todo.contains("systemctl start rosterd") && explanation.todo.contains("curl -i"))
    #expect(explanation.since == "2026-11-21T05:19:04.000Z")
  }

  @Test("A step that ends with a command has a full stop if another step follows")
  func steps() {
    var alone = situation(failure(.unreachable, reason: .dns))
    #expect(Explanation(alone).todo.hasSuffix("getent hosts up.example"))
    alone.silence = Failure(.noDaemon, step: "ask the daemon", subject: "/s", cause: "no daemon answers")
    #expect(Explanation(alone).todo.contains("getent hosts up.example. If a daemon should run"))
  }

  @Test("The commands for a user's own service name the user's service manager")
  func userService() {
    var alone = situation(failure(.unreachable, reason: .dns))
    alone.silence = Failure(.noDaemon, step: "ask the daemon", subject: "/s", cause: "no daemon answers")
    alone.isUserUnit = true
    let todo = Explanation(alone).todo
    #expect(todo.contains("systemctl --user start rosterd. ") && todo.contains("journalctl --user -u rosterd says why"))
    alone.config.lastError = "sync.interval is too short"
    #expect(Explanation(alone).todo.contains(", then systemctl --user reload rosterd."))
  }

  @Test("47: a failed service comes first, before the older trouble of the cache")
  func failedService() {
    var alone = situation(failure(.unreachable, reason: .connection))
    alone.silence = Failure(.noDaemon, step: "ask the daemon", subject: "/s", cause: "no daemon answers")
    alone.unit = "rosterd@stage"
    alone.failed = ServiceFailure(
      unit: "rosterd@stage", at: "2026-11-22T00:00:00.000Z", result: "exit-code", exitStatus: 78,
      status: "/etc/rosterd/stage.toml:1: sync is unknown")
    let explanation = Explanation(alone)
    let head = "rosterd@stage.service has failed at 2026-11-22T00:00:00.000Z (exit 78): /etc/rosterd/stage.toml:1: sync"
    #expect(explanation.what.hasPrefix(head) && explanation.what.contains("Sync 18 failed: "))
    #expect(explanation.todo.hasPrefix("Correct that, then systemctl restart rosterd@stage. "))
    #expect(explanation.since == "2026-11-22T00:00:00.000Z" && !explanation.what.contains("No daemon answers"))
  }
}
