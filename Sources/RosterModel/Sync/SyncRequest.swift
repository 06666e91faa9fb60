/// The options of a requested sync: the body of `POST /v1/sync`, in which each may be left out.
package struct SyncRequest: Codable, Sendable, Equatable {
  /// True to allow any number of removals (P8).
  package var allowRemoval: Bool
  /// True to try an ended session once more (T6).
  package var retrySession: Bool
  /// True to ask for a new access token first (T10.8).
  package var wantsNewToken: Bool
  /// True to publish nothing (`rosterd sync --dry-run`). A daemon does not accept this option.
  package var isDryRun = false
  /// True to transfer everything again (L1).
  package var isFresh = false

  /// All options are off by default.
  package init(
    allowRemoval: Bool = false, retrySession: Bool = false, wantsNewToken: Bool = false, isDryRun: Bool = false,
    isFresh: Bool = false
  ) {
    self.allowRemoval = allowRemoval
    self.retrySession = retrySession
    self.wantsNewToken = wantsNewToken
    self.isDryRun = isDryRun
    self.isFresh = isFresh
  }

  enum CodingKeys: String, CodingKey {
    case allowRemoval = "allow_removal"
    case retrySession = "retry_session"
    case wantsNewToken = "new_token"
    case isFresh = "fresh"
  }

  /// An older daemon refuses `fresh` and `new_token`, so they are left out if they are false.
  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(allowRemoval, forKey: .allowRemoval)
    try members.encode(retrySession, forKey: .retrySession)
    if wantsNewToken { try members.encode(true, forKey: .wantsNewToken) }
    if isFresh { try members.encode(true, forKey: .isFresh) }
  }

  /// A fresh request arrived during a sync that is not fresh (L1.2).
  package struct Conflict: Error, Sendable, Equatable {
    /// The error has no details.
    package init() {}
  }

  /// The answer to a request for a sync.
  package struct Accepted: Codable, Sendable, Equatable {
    /// The sync's id.
    package var sync: Int64
    /// True if the sync was already running.
    package var joined: Bool

    /// Makes the answer.
    package init(sync: Int64, joined: Bool) {
      self.sync = sync
      self.joined = joined
    }
  }
}
