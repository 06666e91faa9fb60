/// What somebody who asks for a sync allows it: the body of `POST /v1/sync`, in which either may be left out.
package struct SyncRequest: Codable, Sendable, Equatable {
  /// However many records it removes (P8).
  package var allowRemoval: Bool
  /// A session that has ended is tried once more (T6).
  package var retrySession: Bool
  /// It publishes nothing (`rosterd sync --dry-run`); nobody can ask a daemon for that.
  package var isDryRun = false

  /// Nothing beyond the usual, unless said.
  package init(allowRemoval: Bool = false, retrySession: Bool = false, isDryRun: Bool = false) {
    self.allowRemoval = allowRemoval
    self.retrySession = retrySession
    self.isDryRun = isDryRun
  }

  enum CodingKeys: String, CodingKey {
    case allowRemoval = "allow_removal"
    case retrySession = "retry_session"
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
