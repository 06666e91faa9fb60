internal import FoundationEssentials
internal import RosterModel

extension DaemonStatus {
  /// The first state that applies, in the contract's order. It depends only on stored facts, so that a restart does not
  /// change it.
  static func state(stopping: Bool, token: TokenStatus, sync: Sync, resources: [CachedResource]) -> State {
    let running = sync.current != nil
    if stopping { return .stopping }
    if token.state == .unauthorized { return .unauthorized }
    return running ? .syncing : State(after: sync.last, resources: resources)
  }

  /// One sentence for people: the daemon's activity, or its trouble and what to do about it. It contains times instead
  /// of ages, because systemd shows it long after it was sent.
  static func message(
    state: State, cache: Cache, emptied: [EmptiedResource], isWALPinned: Bool, sync: Sync, isPostponed: Bool,
    token: TokenStatus, standsSince: Date?, notes: [String]
  ) -> String {
    // A sync that hangs before its row is written is not the current sync.
    let due = standsSince.map { "; the sync that was due has not begun, and nothing has moved since \($0.rfc3339)" }
    let planned = sync.nextAt.map { "; next sync at \($0)" + (isPostponed ? ", when limit.budget holds it" : "") }
    let noted = notes.map { "; \($0)" }.joined()
    let next = (due ?? planned ?? "") + (isWALPinned ? heldLog(cache) : "") + noted
    switch state {
    case .stopping: return "stopping: the work in progress is being finished"
    case .starting: return "starting: no sync has ended yet" + next
    case .syncing:
      let standstill = standsSince.map { "; nothing has moved since \($0.rfc3339)" } ?? ""
      return "syncing: " + (sync.current.map(progress) ?? "") + standstill + lastTrouble(sync.last) + noted
    case .unauthorized:
      return "unauthorized: " + (token.lastError ?? sync.last?.error ?? "upstream refuses the credentials")
        + (due ?? "") + noted
    case .degraded: return "degraded: " + trouble(sync.last, cache: cache) + next
    case .idle:
      guard let verified = cache.verifiedAt else { return "idle: no snapshot yet" + next }
      return "idle: \(cache.records.counted(as: "record")), verified at \(verified)"
        + emptied.map { "; \($0.complaint)" }.joined() + next
    }
  }

  private static func heldLog(_ cache: Cache) -> String {
    let kibibyte: Int64 = 1024
    let size = (cache.walBytes + kibibyte - 1) / kibibyte
    return
      "; a reader keeps a transaction open, so that \(cache.path)-wal cannot shrink (\(size) KiB): end it, `fuser -v` on that file names the program"
  }

  private static func progress(_ current: Current) -> String {
    switch current.phase {
    case .discovering: "asking for the first page"
    case .pulling:
      current.progressText + (current.lists == nil ? "" : ", \(current.pagesDone.counted(as: "page"))")
    case .verifying: "verifying \(current.pagesDone.counted(as: "page"))"
    case .publishing: "publishing \(current.records.counted(as: "record"))"
    }
  }

  private static func lastTrouble(_ last: SyncRecord?) -> String {
    guard let last, last.outcome == .failed else { return "" }
    return "; the last sync failed: " + (last.error ?? "no reason known")
  }

  private static func trouble(_ last: SyncRecord?, cache: Cache) -> String {
    guard let last, last.isDegraded else { return failedLists(cache) }
    if let error = last.error { return "sync \(last.id) \(last.outcome.rawValue): \(error)" }
    guard last.rejected > 0 else { return "sync \(last.id) \(last.outcome.rawValue)" }
    return "sync \(last.id) rejected \(last.rejected.counted(as: "record")); `rosterctl rejects` tells the reasons"
  }

  private static func failedLists(_ cache: Cache) -> String {
    let failed = cache.resources.filter { $0.failedLists > 0 }.map {
      "\($0.failedLists.counted(as: "list")) of \($0.name) failed"
    }
    return failed.joined(separator: ", ") + "; `rosterctl explain` says why"
  }
}
