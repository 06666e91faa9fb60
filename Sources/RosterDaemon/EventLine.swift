import Logging
import RosterModel

extension Logger {
  /// The log's line for an event: at `info` one or two a sync, the rest at `debug`.
  func tell(_ event: Event) {
    var metadata: Metadata = [:]
    if let sync = event.sync, sync != 0 { metadata["sync"] = "\(sync)" }
    if let page = event.page { metadata["page"] = "\(page)" }
    if let attempt = event.attempt { metadata["attempt"] = "\(attempt)" }
    log(level: event.level, "\(event.line)", metadata: metadata)
  }
}

extension Event {
  fileprivate var level: Logger.Level {
    switch name {
    case .syncPublished, .syncUnchanged: report?.error == nil ? .info : .warning
    case .syncFailed, .tokenFailed, .configRefused: .error
    case .syncCancelled, .tokenRefreshed, .configReloaded, .daemonStopping: .info
    case .pageRetried: .debug
    case .syncStarted, .tokenRefused, .tokenJoined, .tokenRefreshing: .debug
    case .pageFetched, .eventsLost: .trace
    }
  }

  fileprivate var line: String {
    switch name {
    case .syncStarted: "sync started"
    case .pageFetched: "page \(page ?? 0) fetched, \(pagesDone ?? 0) of \(pagesTotal ?? 0)"
    case .pageRetried: "page is asked for again in \(delaySeconds ?? 0) s: \(error ?? reason ?? "")"
    case .tokenRefused: "upstream refused the \(reason ?? "") token"
    case .tokenJoined: "a request waits for the refresh that runs"
    case .tokenRefreshing: "refreshing the token (\(reason ?? ""))"
    case .tokenRefreshed: "the token was refreshed"
    case .tokenFailed: "the token could not be refreshed: \(error ?? reason ?? "")"
    case .syncPublished: ending("published")
    case .syncUnchanged: ending("nothing new")
    case .syncFailed: "sync failed: \(error ?? "")"
    case .syncCancelled: "sync cancelled"
    case .configReloaded: "configuration reloaded\(reason.map { "; \($0)" } ?? "")"
    case .configRefused: "the new configuration is refused, the old one stays: \(error ?? "")"
    case .daemonStopping: "stopping"
    case .eventsLost: "events were lost"
    }
  }

  private func ending(_ what: String) -> String {
    guard let report else { return what }
    let counts =
      "\(what): \(report.characters) characters on \(report.pages) pages"
      + " (\(report.added) added, \(report.changed) changed, \(report.removed) removed)"
    return report.error.map { "\(counts); \($0)" } ?? counts
  }
}
