/// An event of `/v1/events`.
package struct Event: Sendable, Equatable {
  /// The kinds of events with their names in docs/STATUS.md.
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
    case listReset = "list.reset"
    case listFailed = "list.failed"
    case listVanished = "list.vanished"
    case configReloaded = "config.reloaded"
    case configRefused = "config.refused"
    case daemonStopping = "daemon.stopping"
    case eventsLost = "events.lost"
  }

  /// Kind of the event, which decides which of the other fields are set.
  package var name: Name
  /// Id of the event's sync in `syncs`.
  package var sync: Int64?
  /// The resource's name.
  package var resource: String?
  /// Number of the page, counted from 1 in the order of arrival.
  package var page: Int?
  /// Number of pages that the sync has done, this one included.
  package var pagesDone: Int?
  /// Total number of pages according to upstream.
  package var pagesTotal: Int?
  /// Number of the failed attempt, counted from 1.
  package var attempt: Int?
  /// JSON list of the keys of a list's ancestors.
  package var of: String?
  /// One word of docs/STATUS.md: `timeout`, `status_503`, `late` and so on.
  package var reason: String?
  /// Delay until the next attempt.
  package var delaySeconds: Double?
  /// One sentence, without secrets.
  package var error: String?
  /// Exit code that `rosterd sync` would have had.
  package var exit: Int32?
  /// True if everything is transferred again; nil for all events but `sync.started`.
  package var isFresh: Bool?
  /// The row of the sync, for events that end a sync; its columns are in `data`.
  package var report: SyncRecord? {
    get { reports.first }
    set { reports = newValue.map { [$0] } ?? [] }
  }
  /// At most one. An array is small in the many events that have no report and are copied often.
  private var reports: [SyncRecord] = []

  /// Makes an event with the fields that its name needs.
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
    self.reports = report.map { [$0] } ?? []
  }
}

extension Event {
  /// The event with the page of the current request, if there is one.
  package var withPage: Event {
    var event = self
    let page = RequestContext.current.page
    event.resource = page?.resource
    event.page = page?.number
    return event
  }
}

/// Receives events from any thread, and returns at once.
package typealias EventSink = @Sendable (Event) -> Void

/// The request that the current task works for. Events of tokens and log lines take the id of the sync and the page
/// from it.
package struct RequestContext: Sendable {
  /// A page of a list.
  package struct Page: Sendable, Equatable {
    /// Name of the resource; the first one if several list from the same address.
    package var resource: String
    /// Number of the page, counted from 1.
    package var number: Int

    /// Makes the page with this number of a resource.
    package init(_ number: Int, of resource: String) {
      self.resource = resource
      self.number = number
    }
  }

  /// Id of the sync in `syncs`; nil outside of a sync.
  package var sync: Int64?
  /// nil outside of a page request.
  package var page: Page?
  /// Name of the resource whose page or records are requested; nil outside of such a request.
  package var resource: String?

  /// Makes the context of a request.
  package init(sync: Int64? = nil, page: Page? = nil, resource: String? = nil) {
    self.sync = sync
    self.page = page
    self.resource = resource
  }

  /// The context of the current task. One value instead of three saves 2 % of the CPU time of an unchanged page.
  @TaskLocal package static var current = RequestContext()
  /// Number of redirects followed. After the first one, the URL is upstream's text and may repeat a secret.
  @TaskLocal package static var hop = 0
}
