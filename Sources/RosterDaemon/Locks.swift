import RosterAuth
import RosterConfiguration
import RosterFiles
import RosterModel
import Synchronization

/// The locks of this process (P14): the cache, and the token store as soon as a configuration uses it.
final class Locks: Sendable {
  private let cache: Ownership
  private let tokenStore = Mutex<Ownership?>(nil)

  init(_ cache: Ownership) {
    self.cache = cache
  }

  /// Throws the same errors as `Ownership`. The token store stays owned under a later flow without tokens, because its
  /// session may be used again.
  func ownTokenStore(_ configuration: Configuration) throws {
    guard configuration.auth.flow.refreshes else { return }
    try tokenStore.withLock { owned in
      guard owned == nil else { return }
      let path = configuration.tokenStoreFile
      try makeFolder(of: path, mode: 0o700)
      owned = try Ownership(of: path)
    }
  }

  /// Makes the lock file of the cache again if it was removed.
  func renewCache() throws { try cache.renew() }

  /// Does the same for the lock file of the token store.
  func renewTokenStore() throws { try tokenStore.withLock { try $0?.renew() } }

  /// True if the previous owner of the cache has released it in order.
  var wasCacheReleased: Bool { cache.wasReleased }

  /// - Parameter isCacheSound: true if the next owner does not need to check the cache.
  func release(isCacheSound: Bool) {
    tokenStore.withLock { $0?.release(isSound: true) }
    cache.release(isSound: isCacheSound)
  }
}
