/// Something that happened, as `/v1/events` tells it.
package struct Event: Sendable, Equatable {
  /// The kinds of events, by the names that section 6 of docs/CONTRACT.md lists.
  package enum Name: String, Sendable, CaseIterable {
    case syncStarted = "sync.started"
    case pageFetched = "page.fetched"
    case pageRetried = "page.retried"
    case tokenRefused = "token.refused"
    case tokenJoined = "token.joined"
    case tokenRefreshing = "token.refreshing"
    case tokenRefreshed = "token.refreshed"
    case tokenFailed = "token.failed"
    case syncPublished = "sync.published"
    case syncUnchanged = "sync.unchanged"
    case syncTried = "sync.tried"
    case syncFailed = "sync.failed"
    case syncCancelled = "sync.cancelled"
    case validatorsDistrusted = "validators.distrusted"
    case configReloaded = "config.reloaded"
    case configRefused = "config.refused"
    case daemonStopping = "daemon.stopping"
    case eventsLost = "events.lost"
  }

  /// What happened; it decides which of the others are set.
  package var name: Name
  /// The sync it belongs to, by its id in `syncs`.
  package var sync: Int64?
  /// The resource's name.
  package var resource: String?
  /// In the order in which they came, from 1.
  package var page: Int?
  /// Pages that the sync has done, this one included.
  package var pagesDone: Int?
  /// Pages in all, as upstream told it.
  package var pagesTotal: Int?
  /// The attempt that failed, from 1.
  package var attempt: Int?
  /// One word of section 6: `timeout`, `status_503`, `late` and so on.
  package var reason: String?
  /// Until the next attempt.
  package var delaySeconds: Double?
  /// One sentence, without secrets (T9).
  package var error: String?
  /// What `rosterd sync` would have exited with.
  package var exit: Int32?
  /// True if everything is transferred again (L1); nil for all events but `sync.started`.
  package var isFresh: Bool?
  /// Set for those that end a sync; its columns stand in `data`.
  package var report: SyncRecord?

  /// With what the name needs.
  package init(
    _ name: Name, sync: Int64? = nil, resource: String? = nil, page: Int? = nil, pagesDone: Int? = nil,
    pagesTotal: Int? = nil, attempt: Int? = nil, reason: String? = nil,
    delaySeconds: Double? = nil, error: String? = nil, exit: Int32? = nil, report: SyncRecord? = nil
  ) {
    self.name = name
    self.sync = sync
    self.resource = resource
    self.page = page
    self.pagesDone = pagesDone
    self.pagesTotal = pagesTotal
    self.attempt = attempt
    self.reason = reason
    self.delaySeconds = delaySeconds
    self.error = error
    self.exit = exit
    self.report = report
  }
}

extension Event {
  /// The same, naming the page on whose behalf it happens, if any.
  package var withPage: Event {
    var event = self
    event.resource = RequestContext.page?.resource
    event.page = RequestContext.page?.number
    return event
  }
}

/// Takes an event at once, from any thread, without waiting for anything.
package typealias EventSink = @Sendable (Event) -> Void

/// The request on whose behalf something happens, so that the token's events and the log can name the sync and page
/// they belong to.
package enum RequestContext {
  /// A page of a list.
  package struct Page: Sendable, Equatable {
    /// The resource's name; of several that list from one address, the first.
    package var resource: String
    /// From 1.
    package var number: Int

    /// That page of that resource.
    package init(_ number: Int, of resource: String) {
      self.resource = resource
      self.number = number
    }
  }

  /// By its id in `syncs`; nil: on behalf of no sync.
  @TaskLocal package static var sync: Int64?
  /// nil: on behalf of no page.
  @TaskLocal package static var page: Page?
  /// Redirects that it followed: from the first on its URL is upstream's text, and may repeat a secret (T9).
  @TaskLocal package static var hop = 0
}
