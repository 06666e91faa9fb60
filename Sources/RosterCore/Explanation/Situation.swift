/// The facts for an explanation, from a daemon or from the cache alone.
package struct Situation: Sendable {
  /// As `/v1/status` has it; without a daemon, by the last sync.
  package var state: DaemonStatus.State
  /// The snapshot that readers see, and the last sync with what was the matter with it.
  package var cache: CacheFacts
  /// Path of the cache.
  package var path: String
  /// The running sync and the next one, as far as a daemon knows them.
  package var sync = DaemonStatus.Sync()
  /// The pause that upstream asked for, and the use of `limit.budget`, as far as a daemon knows them.
  package var upstream = DaemonStatus.Upstream(baseURL: "")
  /// Why the last token request failed.
  package var tokenError: String?
  /// The places of the token and of other secrets in a request; empty if they are unknown.
  package var secrets: [TokenPlace] = []
  /// The file, and why a reload of it was refused.
  package var config: (path: String?, lastError: String?) = (nil, nil)
  /// The reason of a refused reload, if it is not the configuration file.
  package var refusal: Failure?
  /// Why the client certificate could not be read before the last sync; nil if it could, or if a reload was refused.
  package var certificate: Failure?
  /// The first few records that could not be stored.
  package var rejected: [AffectedItem] = []
  /// Why no daemon answers.
  package var silence: Failure?
  /// Without a daemon: how its service ended, if it has failed.
  package var failed: ServiceFailure?
  /// The systemd unit of the daemon, without `.service`.
  package var unit = "rosterd"
  /// True if a user's own service manager runs the unit (`systemctl --user`).
  package var isUserUnit = false
  /// Without a daemon: the sync whose row has no end, if its process may still run.
  package var unfinished: SyncRecord?
  /// The last sync, if it was cancelled or killed after the one with the trouble.
  private(set) var inconclusive: SyncRecord?

  /// The situation of a cache alone.
  package init(_ state: DaemonStatus.State, cache: CacheFacts, path: String) {
    self.state = state
    self.cache = cache
    self.path = path
    // A sync that was cancelled or killed ends no trouble.
    guard let conclusive = cache.conclusive, conclusive.isDegraded, conclusive.id != cache.last?.id else { return }
    inconclusive = cache.last
    self.cache.last = conclusive
  }

  /// All diagnoses: a failed service first, then the reason of the state, and last a silent daemon.
  var troubles: [Diagnosis] {
    let lists = [failedLists, vanishedLists, absent, missed, missedLists]
    return ([stopped, refused] + causes + [silent, pinned, distrusted] + lists + [alone]).compactMap { $0 }
  }

  /// The main diagnosis, and the further troubles of the same sync.
  private var causes: [Diagnosis] { main.map { [$0] + ($0.others ?? []) } ?? [] }

  /// The service of the daemon has failed.
  var stopped: Diagnosis? { failed.map { Diagnosis(.failedService, $0.text, hint: $0.hint) } }

  /// No daemon answers, and nothing tells why.
  var alone: Diagnosis? {
    failed != nil ? nil : silence.map { Diagnosis(.noDaemon, "\($0.cause) (\($0.subject))", [.file($0.subject)]) }
  }

  /// The diagnosis of the syncs, or of the session.
  var main: Diagnosis? {
    if state == .unauthorized, let tokenError, cache.last?.trouble?.kind.isOfToken != true {
      return Diagnosis(.session, tokenError)
    }
    return cache.last?.diagnosis.map(naming) ?? waiting
  }

  /// Beginning of the main trouble, or of the failure of the service, RFC 3339; nil without either.
  package var since: String? { failed?.at ?? main?.since }

  /// Adds the records that could not be stored.
  private func naming(_ trouble: Diagnosis) -> Diagnosis {
    var trouble = trouble
    if trouble.kind == .rejects { trouble.concerned += rejected }
    trouble.others = trouble.others?.map(naming)
    return trouble
  }

  /// A sync that is due is not started.
  private var waiting: Diagnosis? {
    if sync.heldBy != nil, let budget = upstream.budget {
      let cause = "\(budget.used) of \(budget.limit) requests are used, and the next sync needs more than are left"
      return Diagnosis(.budget, cause, [.setting("limit.budget")])
    }
    if let heldUntil = upstream.heldUntil, sync.current == nil {
      return Diagnosis(.held, "upstream wants no request before \(heldUntil)", [.header("Retry-After")])
    }
    return nil
  }

  /// A missing credential and a client certificate are matters of their own files.
  var refused: Diagnosis? {
    config.lastError.map { why in
      let files = (certificate ?? refusal).map { Diagnosis($0).concerned } ?? []
      return Diagnosis(
        .refusedConfiguration,
        "the new \(certificate == nil ? "configuration" : "client certificate") was refused: \(why)",
        files.isEmpty ? config.path.map { [.file($0)] } ?? [] : files)
    }
  }

  private var silent: Diagnosis? {
    sync.stalledSince.map { Diagnosis(.silent, "nothing has moved since \($0)") }
  }

  private var pinned: Diagnosis? {
    cache.isWALPinned ? Diagnosis(.pinned, "the cache's log cannot be written back", [.file("\(path)-wal")]) : nil
  }

  /// Resources whose validators lied in an earlier sync.
  private var distrusted: Diagnosis? {
    let resources = cache.resources.filter { $0.validators != DaemonStatus.CachedResource.trusted }
    guard !resources.isEmpty, !causes.contains(where: { $0.kind == .validators }) else { return nil }
    let since = resources.map { "\($0.name) since \($0.distrustedSince ?? "an earlier sync")" }
    return Diagnosis(
      .validators, "validators are distrusted: \(since.joined(separator: ", "))",
      resources.map { .resource($0.name) })
  }

  private var absent: Diagnosis? {
    let absent = cache.resources.filter { $0.absent > 0 }
    guard !absent.isEmpty else { return nil }
    let counts = absent.map { "\($0.absent) of \($0.name)" }.joined(separator: ", ")
    return Diagnosis(.absent, "upstream lists no more: \(counts)", absent.map { .resource($0.name) })
  }
}

extension Situation {
  private var missed: Diagnosis? {
    missed(.missed, what: "incremental pulls have missed records", hasSince: true)
  }

  /// Records that the lists of children without `since` have missed.
  private var missedLists: Diagnosis? {
    missed(.missedLists, what: "lists that were not requested have changed", hasSince: false)
  }

  private func missed(_ kind: Diagnosis.Kind, what: String, hasSince: Bool) -> Diagnosis? {
    let missed = cache.resources.filter { $0.missed ?? 0 > 0 && $0.hasSince == hasSince }
    guard !missed.isEmpty else { return nil }
    let counts = missed.map { "\($0.missed ?? 0) of \($0.name)" }.joined(separator: ", ")
    return Diagnosis(kind, "\(what): \(counts)", missed.map { .resource($0.name) })
  }

  /// Failed lists of resources that the last sync's trouble does not name.
  private var failedLists: Diagnosis? {
    let known = causes.filter { $0.kind == .failedLists }.flatMap(\.concerned)
    let failed = cache.resources.filter { $0.lists?.failed ?? 0 > 0 && !known.contains(.resource($0.name)) }
    guard !failed.isEmpty else { return nil }
    let counts = failed.map { Self.of($0, number: \.failed) }.joined(separator: ", ")
    return Diagnosis(.failedLists, "lists have failed: \(counts)", concerned(failed, hasVanished: false))
  }

  private var vanishedLists: Diagnosis? {
    let vanished = cache.resources.filter { $0.lists?.vanished ?? 0 > 0 }
    guard !vanished.isEmpty, main?.kind != .vanishedLists else { return nil }
    let counts = vanished.map { Self.of($0, number: \.vanished) }.joined(separator: ", ")
    return Diagnosis(
      .vanishedLists, "the parents of lists have disappeared: \(counts)", concerned(vanished, hasVanished: true))
  }

  /// `3 of 4512 lists of comment`.
  private static func of(
    _ resource: DaemonStatus.CachedResource, number: KeyPath<DaemonStatus.CachedLists, Int>
  ) -> String {
    let lists = resource.lists ?? DaemonStatus.CachedLists()
    return "\(lists[keyPath: number]) of \(lists.total.counted(as: "list")) of \(resource.name)"
  }

  /// The resources, and the parents by key.
  private func concerned(_ resources: [DaemonStatus.CachedResource], hasVanished: Bool) -> [AffectedItem] {
    resources.flatMap { resource in
      [.resource(resource.name)]
        + cache.failedLists.filter { $0.resource == resource.name && $0.hasVanished == hasVanished }.map(\.concern)
    }
  }
}

extension Diagnosis.Kind {
  fileprivate var isOfToken: Bool {
    switch self {
    case .noCredential, .credential, .outlived, .session, .incomplete, .tokenMalformed, .tokenStatus, .freshRefused,
      .loggedOut, .missingCredential:
      true
    default: false
    }
  }
}

/// The end of a systemd service that should be running.
package struct ServiceFailure: Sendable, Equatable {
  /// The unit, without `.service`.
  package var unit: String
  /// Time at which its main process ended, RFC 3339; nil if systemd does not know it.
  package var at: String?
  /// `Result=` of the unit: `exit-code`, `watchdog`, `oom-kill`.
  package var result: String
  /// Exit status of its main process; nil if a signal ended it.
  package var exitStatus: Int32?
  /// The last `STATUS=` that it sent; empty if it sent none.
  package var status: String

  /// Makes the value from the facts that systemd reports.
  package init(unit: String, at: String?, result: String, exitStatus: Int32?, status: String) {
    self.unit = unit
    self.at = at
    self.result = result
    self.exitStatus = exitStatus
    self.status = status
  }

  /// A clause that says how the service ended.
  package var text: String {
    let head = "\(unit).service has failed" + (at.map { " at \($0)" } ?? "")
    guard let exitStatus else { return "\(head) (\(result))" }
    if exitStatus == Self.credentials { return "\(head): systemd could not load its credentials (exit \(exitStatus))" }
    let isOwn = Failure.Kind(rawValue: exitStatus) != nil && !status.isEmpty
    return isOwn ? "\(head) (exit \(exitStatus)): \(status)" : "\(head) (exit \(exitStatus))"
  }

  /// The remedy as an imperative; nil if the text of the failure is enough.
  package var hint: String? {
    guard exitStatus == Self.credentials else { return nil }
    return "see which credentials the unit loads: systemctl cat \(unit); a plain file in /etc/credstore.encrypted, or "
      + "at a path of LoadCredentialEncrypted=, must be encrypted with systemd-creds, or moved to /etc/credstore"
  }

  /// EXIT_CREDENTIALS of systemd itself (systemd.exec(5)).
  private static let credentials: Int32 = 243
}
