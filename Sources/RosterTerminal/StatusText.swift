package import FoundationEssentials
package import RosterCore

/// The status for people: first the state, then the age of the data, the running sync, the token and the syncs. Each
/// fact appears once. Without a daemon, it shows the facts of the cache.
package struct StatusText: Sendable {
  /// nil if no daemon answers.
  private let daemon: DaemonStatus?
  /// The headline with relative times: `verified 3.2 s ago; next sync in 14 min`.
  private let told: Headline
  private let cached: DaemonStatus.Cache
  private let sync: DaemonStatus.Sync
  private let width: Int
  private let colour: Bool
  private let ages: Ages
  private let resources: ResourceLines

  /// - Parameters:
  ///   - now: The reference for ages; nil if the reader has no clock. Then it is the daemon's start and uptime, which
  ///     is wrong if the clock was set since.
  ///   - width: Number of cells per line.
  ///   - maxResources: Maximum number of lines for resources; nil for all.
  package init(
    _ status: DaemonStatus, now: Date? = nil, width: Int, colour: Bool = false, maxResources: Int? = nil
  ) {
    daemon = status
    (cached, sync) = (status.cache, status.sync)
    self.width = width
    let now = now ?? Date(rfc3339: status.startedAt)?.addingTimeInterval(status.uptimeSeconds)
    ages = Ages(now: now)
    told = Headline(status, times: ages.times)
    resources = ResourceLines(
      sync.current, cached: cached.resources, most: maxResources, verifiedAt: cached.verifiedAt, ages: ages)
    self.colour = colour
  }

  /// - Parameter now: the reference for ages.
  package init(_ status: CacheStatus, now: Date, width: Int, colour: Bool, maxResources: Int?) {
    daemon = nil
    (cached, sync) = (status.cache, DaemonStatus.Sync(last: status.last))
    self.width = width
    ages = Ages(now: now)
    told = Headline(status, times: ages.times)
    resources = ResourceLines(
      nil, cached: cached.resources, most: maxResources, verifiedAt: cached.verifiedAt, ages: ages)
    self.colour = colour
  }

  /// Lines of at most `width` cells, or as long as a single word, each with its end.
  package var text: String {
    let layout = Rows(width: width, colour: colour)
    // Rows are ordered by importance, since a small screen shows only the first ones.
    return headline + layout.row("data", data)
      // The bar already fits the width, and its colours must not be split by a line break.
      + layout.row("progress", lines: progress.map { [$0] } ?? [])
      + layout.row("resources", lines: resources.lines(width: width - layout.indent, colour: colour))
      + rows.dropFirst(data == nil ? 0 : 1).map { layout.row($0.name, $0.value) }.joined()
  }

  /// The rows below the headline, without bars and resources.
  package var rows: [(name: String, value: String)] {
    [
      ("data", data), ("token", token), ("last sync", last), ("next sync", next), ("config", config),
      ("upstream", upstream), ("budget", budget), ("cache", cache), ("daemon", process),
    ].compactMap { row in row.1.map { (row.0, $0) } }
  }

  /// The headline on one line, without the state at its beginning.
  package var sentence: String { told.sentence.printable }

  /// The daemon's activity, or the problem and its remedy: the first lines of `text`.
  package var headline: String {
    let lines = told.text.printable.wrapped(width - 2)
    let (mark, tone) = daemon?.state.mark ?? ("○", .bad)
    let marked = zip(lines, [mark.toned(tone, colour: colour) + " "] + lines.dropFirst().map { _ in "  " })
    return marked.map { $1 + $0.toned($1 == "  " ? .plain : .strong, colour: colour) + "\n" }.joined()
  }

  /// The headline, and the reason for a refused configuration: all that decides the exit of `--check`.
  package var verdict: String {
    headline + (daemon?.config.lastError == nil ? "" : config.map { "  config: \($0.printable)\n" } ?? "")
  }

  // MARK: Rows

  private var data: String? {
    guard cached.ageSeconds != nil else { return "no sync has published yet" }
    return filled(facts.filter { !told.has($0) }.joined(separator: ", "))
  }

  /// Facts about the snapshot.
  private var facts: [String] {
    let cache = cached
    var facts = [cache.records.counted(as: "record"), cache.pages.counted(as: "page")]
    if cache.resources.count > 1 { facts.insert(cache.resources.count.counted(as: "resource"), at: 0) }
    if let only = cache.resources.first, cache.resources.count == 1 {
      if let completeness = only.completeness { facts.append(completeness) }
      if only.absent > 0 { facts.append("\(only.absent) absent") }
      if let whole = ages.ago(only.wholeAt) { facts.append("whole \(whole)\(only.missedText)") }
      if only.validators != DaemonStatus.CachedResource.trusted { facts.append("validators distrusted") }
    }
    if let verified = ages.ago(cache.verifiedAt) { facts.append("verified \(verified)") }
    if let publishedAt = cache.publishedAt, publishedAt < cache.verifiedAt ?? "",
      let published = ages.ago(publishedAt)
    {
      facts.append("published \(published)")
    }
    return facts
  }

  private var progress: String? {
    guard let current = sync.current, current.phase != .discovering else { return nil }
    var bar = ProgressBar(current)
    bar.showsTotals = !told.has(current.progressText)
    bar.counts.removeAll { told.text.contains($0) }
    return bar.text(width: min(width, Self.widestProgress) - Rows.indent, colour: colour)
  }

  private var token: String? {
    guard let token = daemon?.token else { return nil }
    if token.flow == "none" { return "none needed" }
    var parts = ["\(token.state.rawValue) (\(token.flow))" + (expiry.map { ", \($0)" } ?? "")]
    if token.refreshes > 0 {
      parts.append(
        token.refreshes.counted(as: "refresh") + (ages.ago(token.lastRefreshAt).map { ", the last \($0)" } ?? ""))
    }
    if token.joined > 0 { parts.append("\(token.joined.counted(as: "request")) shared a refresh") }
    if token.avoided > 0 { parts.append("\(token.avoided.counted(as: "late 401")) needed no refresh") }
    if token.state == .unauthorized, token.flow == "oauth2_refresh" {
      parts.append("rosterd login gets a new refresh token")
    }
    if let error = token.lastError, !told.text.contains(error) { parts.append("last error: \(error)") }
    return parts.joined(separator: "; ")
  }

  private var expiry: String? { ages.end(of: daemon?.token.expiresAt) }

  private var last: String? {
    guard let last = sync.last else { return nil }
    let head = told.has(SyncText.head(last)) ? "" : SyncText.head(last)
    let ended = last.outcome == .published || last.outcome == .unchanged ? nil : ages.ago(last.finishedAt)
    let opening = head + (ended.map { " \($0)" } ?? "") + SyncText.took(last)
    if last.outcome == .interrupted { return "\(SyncText.head(last)): \(SyncText.kept)" }
    let parts = (SyncText.contents(last) + SyncText.work(last)).filter { !told.has($0) && !facts.contains($0) }
    let error = last.error.flatMap { told.text.contains($0) ? nil : "; \($0)" } ?? ""
    return opening.drop { $0 == " " } + ": " + parts.joined(separator: ", ") + error
  }

  private var next: String? {
    guard let due = sync.nextAt.flatMap(ages.due), !told.has("next sync \(due)") else { return nil }
    return due + (daemon?.state.limitOfNextSync ?? "")
  }

  private var config: String? {
    guard let config = daemon?.config else { return nil }
    let file = config.path ?? "no file: the environment and the defaults hold"
    return config.lastError.map { "\(file); refused: \($0)" } ?? file
  }

  private var upstream: String? {
    guard let upstream = daemon?.upstream else { return nil }
    let held = ages.seconds(until: upstream.heldUntil).map { ", wants no request for \(HumanFormat.span($0))" } ?? ""
    return upstream.baseURL
      + (upstream.requestsPerDay.map { ", about \(HumanFormat.grouped($0)) requests a day" } ?? "")
      + held + (certificate.map { ", \($0)" } ?? "")
  }

  private var certificate: String? {
    ages.end(of: daemon?.upstream.clientCertificate?.notAfter).map { "the client certificate \($0)" }
  }

  private var budget: String? {
    daemon?.upstream.budget.map {
      "\(HumanFormat.grouped($0.used)) of \(HumanFormat.grouped($0.limit)) \(HumanFormat.per($0.windowSeconds))"
    }
  }

  private var cache: String {
    let wal = cached.walBytes > 0 ? " + \(HumanFormat.bytes(cached.walBytes)) WAL" : ""
    return "\(cached.path) (\(HumanFormat.bytes(cached.sizeBytes))\(wal))"
  }

  private var process: String? {
    daemon.map {
      let upgraded = $0.version == rosterdVersion ? "" : "; rosterctl is \(rosterdVersion): restart rosterd"
      return "rosterd \($0.version), pid \($0.pid), up \(HumanFormat.span($0.uptimeSeconds))\(upgraded)"
    }
  }

  private func filled(_ text: String) -> String? { text.isEmpty ? nil : text }

  /// A bar with all its counts needs no more cells, even on a wider terminal.
  private static let widestProgress = 200
}
