/// The options of a requested sync: the body of `POST /v1/sync`, in which each may be left out.
package struct SyncRequest: Codable, Sendable, Equatable {
  /// True to allow any number of removals.
  package var allowRemoval: Bool
  /// True to try an ended session once more.
  package var retrySession: Bool
  /// True to ask for a new access token first.
  package var wantsNewToken: Bool
  /// True to publish nothing (`rosterd sync --dry-run`). A daemon does not accept this option.
  package var isDryRun = false
  /// True to transfer everything again.
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

  /// A fresh request arrived during a sync that is not fresh.
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

/// The row of a sync could not be written at its start. The sync counts as failed and keeps the id meant for it.
package struct SyncStartError: Error {
  /// The id that was meant for it in `syncs`.
  package var id: Int64
  /// The reason why the row could not be written, mostly a `Failure`.
  package var cause: any Error

  /// Makes the error for a sync with this id.
  package init(id: Int64, cause: any Error) {
    self.id = id
    self.cause = cause
  }
}

/// The query of `GET /v1/syncs`.
package struct SyncsRequest: Sendable, Equatable {
  /// Maximum number of syncs, the latest ones.
  package var limit: Int
  /// True to add the number of records by resource.
  package var withResources: Bool

  /// Asks for the columns alone by default.
  package init(limit: Int, withResources: Bool = false) {
    self.limit = limit
    self.withResources = withResources
  }
}

/// The query of `GET /v1/changes`.
package struct FeedRequest: Sendable, Equatable {
  /// Only changes with a larger id; 0 or more.
  package var since: Int64
  /// The feed of that id; nil for the current feed.
  package var feed: String?
  /// Only changes of this resource; nil for all.
  package var resource: String?
  /// Maximum number of changes, 1 to 1000.
  package var limit: Int

  /// Asks for all resources by default.
  package init(since: Int64, feed: String? = nil, resource: String? = nil, limit: Int = 100) {
    self.since = since
    self.feed = feed
    self.resource = resource
    self.limit = limit
  }
}

/// The answers to a query of changes.
package enum FeedAnswer: Sendable, Equatable {
  /// The documented JSON, `{"feed","changes":[…],"last"}`.
  case page(json: [UInt8], isEmpty: Bool)
  /// The reader must start from scratch: a clause that gives the reason.
  case readAnew(String)
  /// The cache has no such resource: one sentence.
  case noResource(String)
}
