import Logging
import RosterModel
import RosterStatus

extension Logger {
  /// Writes the log line of an event. A good sync has one line at `info`. Faults are `warning` or `error`, and the
  /// steps of a sync are `debug` or `trace`.
  func tell(_ event: Event, telling: RepeatFilter.Telling?) {
    let level = event.level(telling)
    var isOver = false
    if case .over = telling { isOver = true }
    // A shortcut: most events are about pages, whose lines are usually not logged.
    guard logLevel <= level || isOver else { return }
    var metadata: Metadata = [:]
    if let sync = event.sync, sync != 0 { metadata["sync"] = "\(sync)" }
    if let resource = event.resource { metadata["resource"] = "\(resource)" }
    if let page = event.page { metadata["page"] = "\(page)" }
    if let attempt = event.attempt { metadata["attempt"] = "\(attempt)" }
    if case .over(let times, let since) = telling {
      notice("syncs end well again, after \(times) that did not since \(since.rfc3339)", metadata: metadata)
    }
    var line = event.line
    if case .again(let times, let since) = telling { line += " (\(times) times since \(since.rfc3339))" }
    log(level: level, "\(line)", metadata: metadata)
  }
}

extension Event {
  fileprivate func level(_ telling: RepeatFilter.Telling?) -> Logger.Level {
    switch name {
    case .syncPublished, .syncUnchanged, .syncTried: report?.isDegraded == true && telling != .known ? .warning : .info
    // A token request that is retried is only a step of the refresh, like `page.retried` for a page.
    case .tokenFailed: delaySeconds != nil || telling == .known ? .debug : .error
    case .syncFailed: telling == .known ? .debug : .error
    case .configRefused: .error
    case .validatorsDistrusted, .listReset, .listVanished: .warning
    // The line at the end of the sync has their number and the first reason.
    case .listFailed: .debug
    case .syncCancelled, .tokenRefreshed, .configReloaded, .daemonStopping: .info
    case .pageRetried: .debug
    case .syncStarted, .tokenRefused, .tokenJoined, .tokenRefreshing: .debug
    case .pageFetched, .eventsLost: .trace
    }
  }

  fileprivate var line: String {
    switch name {
    case .syncStarted: isFresh == true ? "fresh sync started" : "sync started"
    case .pageFetched:
      "page \(page ?? 0) of \(resource ?? "") fetched, \(pagesDone ?? 0)" + (pagesTotal.map { " of \($0)" } ?? "")
    case .pageRetried: "page is requested again in \(delaySeconds ?? 0) s: \(error ?? reason ?? "")"
    case .tokenRefused: "upstream refused the \(reason ?? "") token"
    case .tokenJoined: "a request waits for the running refresh"
    case .tokenRefreshing: "requesting a token (\(reason ?? ""))"
    case .tokenRefreshed: "upstream granted a new token"
    case .tokenFailed: "upstream granted no new token: \(error ?? reason ?? "")"
    case .syncPublished: ending("published")
    case .syncUnchanged: ending("nothing new")
    case .syncTried: ending("tried")
    case .syncFailed: "sync failed: \(error ?? "")"
    case .syncCancelled: "sync cancelled"
    case .validatorsDistrusted:
      "the validators of \(resource ?? "") lied (\(reason ?? "")): it is pulled whole, and synced without them from now on"
    case .listFailed: "the list of \(resource ?? "") for the parent \(of ?? "") failed: \(error ?? "")"
    case .listVanished: "the parent \(of ?? "") of a list of \(resource ?? "") disappeared: \(error ?? "")"
    case .listReset:
      "upstream \(reason == "token" ? "has forgotten the delta token" : "refused to continue an incremental pull") of "
        + "\(resource ?? ""): the list is pulled whole"
    case .configReloaded: "configuration reloaded\(reason.map { "; \($0)" } ?? "")"
    case .configRefused: "the new configuration is refused, the old one stays: \(error ?? "")"
    case .daemonStopping: "stopping"
    case .eventsLost: "events were lost"
    }
  }

  private func ending(_ what: String) -> String {
    guard let report else { return what }
    let counts =
      "\(what): \(report.records.counted(as: "record")) on \(report.pages.counted(as: "page"))"
      + " (\(report.added) added, \(report.changed) changed, \(report.removed) removed)"
    let rejected = report.rejected == 0 ? "" : "; \(report.rejected) rejected"
    return counts + rejected + (report.error.map { "; \($0)" } ?? "")
  }
}
