/// What somebody who asks for a sync allows it: the body of `POST /v1/sync`, in which either may be left out.
package struct SyncRequest: Codable, Sendable, Equatable {
  /// However many records it removes (P8).
  package var allowRemoval: Bool
  /// A session that has ended is tried once more (T6).
  package var retrySession: Bool
  /// It publishes nothing (`rosterd sync --dry-run`); nobody can ask a daemon for that.
  package var isDryRun = false
  /// Everything is transferred again (L1).
  package var isFresh = false

  /// Nothing beyond the usual, unless said.
  package init(allowRemoval: Bool = false, retrySession: Bool = false, isDryRun: Bool = false, isFresh: Bool = false) {
    self.allowRemoval = allowRemoval
    self.retrySession = retrySession
    self.isDryRun = isDryRun
    self.isFresh = isFresh
  }

  enum CodingKeys: String, CodingKey {
    case allowRemoval = "allow_removal"
    case retrySession = "retry_session"
    case isFresh = "fresh"
  }

  /// A daemon of version 0.2 refuses `fresh`, so it is left out if it is false.
  package func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(allowRemoval, forKey: .allowRemoval)
    try members.encode(retrySession, forKey: .retrySession)
    if isFresh { try members.encode(true, forKey: .isFresh) }
  }

  /// A fresh request that met a running sync which is not fresh (L1.2).
  package struct Conflict: Error, Sendable, Equatable {
    /// The error has no details.
    package init() {}
  }

  /// The answer to it.
  package struct Accepted: Codable, Sendable, Equatable {
    /// The sync's id.
    package var sync: Int64
    /// It ran already.
    package var joined: Bool

    /// The two columns of the answer.
    package init(sync: Int64, joined: Bool) {
      self.sync = sync
      self.joined = joined
    }
  }
}
