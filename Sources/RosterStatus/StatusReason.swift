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

  /// The trouble that explains a state, for people; nil without trouble.
  /// - Parameter last: The last conclusive sync; without one, the last sync.
  static func reason(_ state: State, last: SyncRecord?, cache: CacheFacts, token: TokenStatus) -> String? {
    switch state {
    case .stopping, .starting: return nil
    case .syncing:
      guard let last, last.outcome == .failed else { return nil }
      return "the last sync failed: " + (last.error ?? "no reason known")
    case .unauthorized: return token.lastError ?? last?.error ?? "upstream refuses the credentials"
    case .degraded: return trouble(last, cache: cache)
    case .idle:
      guard cache.verifiedAt != nil else { return nil }
      let doubts = cache.emptied.map(\.complaint) + (last?.trouble.map { [$0.what] } ?? [])
      return doubts.isEmpty ? nil : doubts.joined(separator: "; ")
    }
  }

  private static func trouble(_ last: SyncRecord?, cache: CacheFacts) -> String {
    guard let last, last.isDegraded else { return failedLists(cache) }
    if let error = last.error { return "sync \(last.id) \(last.outcome.rawValue): \(error)" }
    guard last.rejected > 0 else { return "sync \(last.id) \(last.outcome.rawValue)" }
    return "sync \(last.id) rejected \(last.rejected.counted(as: "record")); `rosterctl rejects` tells the reasons"
  }

  private static func failedLists(_ cache: CacheFacts) -> String {
    let failed = cache.resources.filter { $0.failedLists > 0 }.map {
      "\($0.failedLists.counted(as: "list")) of \($0.name) failed"
    }
    return failed.joined(separator: ", ") + "; `rosterctl explain` says why"
  }

  /// The note about a log that a reader's transaction keeps large.
  static func heldLog(path: String, bytes: Int64) -> String {
    "a reader keeps a transaction open, so that \(path)-wal cannot shrink (\((bytes + 1023) / 1024) KiB): end it, `fuser -v` on that file names the program"
  }
}
