import RosterAuth
import RosterConfiguration
import RosterFiles
import RosterModel
import Synchronization

/// What this process owns (P14): the cache, and the token store from the first configuration on that uses it.
final class Locks: Sendable {
  private let cache: Ownership
  private let tokenStore = Mutex<Ownership?>(nil)

  init(_ cache: Ownership) {
    self.cache = cache
  }

  /// Throws as `Ownership` does. Once owned it stays so, also under a flow that needs none: its session may come back.
  func ownTokenStore(_ configuration: Configuration) throws {
    guard configuration.auth.flow.refreshes else { return }
    try tokenStore.withLock { owned in
      guard owned == nil else { return }
      try makeFolder(of: configuration.auth.tokenStore, mode: 0o700)
      owned = try Ownership(of: configuration.auth.tokenStore)
    }
  }

  /// These make a lock file again that somebody has removed.
  func renewCache() throws { try cache.renew() }

  func renewTokenStore() throws { try tokenStore.withLock { try $0?.renew() } }

  func release() {
    tokenStore.withLock { $0?.release() }
    cache.release()
  }
}
