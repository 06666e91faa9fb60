/// Why the state is what it is, for people: what `rosterctl explain` and `/v1/explain` tell. Its text has no line ends.
package struct Explanation: Codable, Sendable, Equatable {
  /// The state in `/v1/status`.
  package var state: DaemonStatus.State
  /// Events and their meaning, in sentences.
  package var what: String
  /// The end of the first of the consecutive syncs with this failure, RFC 3339; null if there is no failure.
  @OrNull package var since: String?
  /// The data that readers see meanwhile.
  package var readers: String
  /// The items to look at.
  package var concerned: [AffectedItem]
  /// The next step.
  package var todo: String
  /// When rosterd tries again, RFC 3339; null while a sync runs or none is planned.
  @OrNull package var nextAt: String?

  /// Pure.
  package init(_ situation: Situation) {
    let troubles = situation.troubles
    // The last sync in the cache says nothing about the state of a service that does not run.
    state = situation.failed == nil ? situation.state : .degraded
    // Readers must know first that it is the cache that tells.
    let head = situation.stopped ?? situation.alone
    let begun = situation.unfinished.map { "Sync \($0.id) began at \($0.startedAt) and has not ended." }
    let told =
      [head, situation.refused].compactMap { $0?.told(in: situation) } + [begun ?? "", situation.opening]
      + troubles.filter { $0 != head && $0 != situation.refused }.map { $0.told(in: situation) }
    what = told.filter { !$0.isEmpty }.joined(separator: " ")
    readers = situation.readers
    concerned = troubles.flatMap(\.concerned).reduce(into: []) { $0.add($1) }
    let steps = troubles.map { $0.todo(in: situation) }
    // A command at the very end has no full stop, so that it can be copied.
    todo =
      steps.isEmpty ? situation.nothing : (steps.dropLast().map(\.asSentence) + steps.suffix(1)).joined(separator: " ")
    _since = OrNull(wrappedValue: situation.since)
    _nextAt = OrNull(wrappedValue: situation.sync.nextAt)
  }

  enum CodingKeys: String, CodingKey {
    case state, what, since, readers, concerned, todo
    case nextAt = "next_at"
  }
}

// MARK: Troubles

extension Diagnosis {
  /// The event and its meaning.
  fileprivate func told(in situation: Situation) -> String {
    var head = what
    if let last = situation.cache.last, self == situation.main, last.isDegraded {
      head = "sync \(last.id) \(last.outcome == .failed ? "failed" : "has gone well, but"): \(what)"
    }
    return "\(head.asSentence) \(filled(kind.text.meaning, situation: situation))"
  }

  fileprivate func todo(in situation: Situation) -> String {
    let own = kind.takesHint ? hint.map { $0.asSentence + " " } ?? "" : ""
    return own + filled(kind.text.todo, situation: situation)
  }

  /// With what is concerned in the place of the words for it.
  private func filled(_ text: String, situation: Situation) -> String {
    let asked = concerned.first { $0.kind == .page || $0.kind == .address }
    let address = asked?.name
    let resource = concerned.lazy.compactMap { $0.kind == .resource ? $0.name : $0.resource }.first
    let file = concerned.first { $0.kind == .file }?.name
    let command = asked.map { request(of: $0, in: situation) }
    let words = [
      "{address}": address.map(Self.quoted) ?? "its address",
      "{request}": command ?? "its address", "{server}": address.map(Self.server) ?? "HOST:443",
      "{host}": address.map { String(Self.server($0).prefix { $0 != ":" }) } ?? "HOST",
      "{resource}": resource ?? "NAME", "{file}": file ?? "the file", "{unit}": situation.unit,
      "{config}": situation.config.path ?? "/etc/rosterd/rosterd.toml",
    ]
    let managers = situation.isUserUnit ? ["systemctl ", "journalctl "] : []
    let commands = managers.reduce(text) { $0.replacing($1, with: "\($1)--user ") }
    return words.reduce(commands) { $0.replacing($1.key, with: $1.value) }
  }

  /// The arguments of curl for a request. Its secrets are placeholders, which the user replaces.
  private func request(of item: AffectedItem, in situation: Situation) -> String {
    // A token request carries no token.
    let secrets = kind == .tokenUnreachable ? [] : situation.secrets
    let address = secrets.reduce(item.name) { address, place in
      guard place.carrier == .parameter else { return address }
      return address + (address.contains("?") ? "&" : "?") + place.text.dropFirst()
    }
    let headers = secrets.filter { $0.carrier == .header }.map { place in
      place == .basic ? "-u 'USER:PASSWORD' " : "-H '\(Self.escaped(place.text))' "
    }.joined()
    guard let body = item.body else { return headers + Self.quoted(address) }
    // A JSON body is an object. By default, curl sends the type of a form.
    let type = body.hasPrefix("{") ? "-H 'Content-Type: application/json' " : ""
    return headers + type + "--data-raw '\(Self.escaped(body.printable))' \(Self.quoted(address))"
  }

  private static func escaped(_ text: String) -> String { text.replacing("'", with: #"'\''"#) }

  /// Quotes an address for a shell, into which a user may paste the command. Upstream has chosen the address.
  private static func quoted(_ address: String) -> String { "'\(address.replacing("'", with: "%27"))'" }

  /// `host:port` of an address.
  private static func server(_ address: String) -> String {
    let authority = (address.split(separator: "://", maxSplits: 1).last ?? "").prefix { $0 != "/" && $0 != "?" }
    let port = address.hasPrefix("https") ? 443 : 80
    return authority.last?.isNumber == true && authority.contains(":") ? String(authority) : "\(authority):\(port)"
  }
}

extension [AffectedItem] {
  /// Adds an item, or only its reason if the list already has the item without one.
  fileprivate mutating func add(_ item: AffectedItem) {
    let same = firstIndex { $0.isSame(as: item) && ($0.reason == nil || item.reason == nil || $0 == item) }
    guard let same else { return append(item) }
    self[same].reason = self[same].reason ?? item.reason
  }
}

extension AffectedItem {
  /// True if the items are equal apart from their reasons.
  fileprivate func isSame(as item: AffectedItem) -> Bool {
    var other = item
    other.reason = reason
    return self == other
  }
}

extension String {
  fileprivate var asSentence: String {
    let ended = last.map { ".!?".contains($0) } ?? true ? self : self + "."
    // A path and a key of the configuration are not changed.
    let isName = prefix { $0 != " " }.contains { "./_".contains($0) } || hasPrefix("rosterd ") || hasPrefix("rosterd@")
    return isName ? ended : ended.prefix(1).uppercased() + ended.dropFirst()
  }
}

// MARK: States

extension Situation {
  /// The meaning of the state if no diagnosis explains it.
  fileprivate var opening: String {
    switch state {
    case .syncing: running
    case .stopping: "rosterd is stopping, and finishes the work in progress."
    case .starting: silence == nil ? "No sync has ended yet." : ""
    case .idle where failed != nil: ""
    case .idle where silence == nil && refused != nil: ending?.replacing("All is well: sync", with: "Sync") ?? ""
    case .idle where silence == nil: ending ?? "All is well."
    case .idle: ending ?? ""
    case .degraded, .unauthorized: inconclusive.flatMap(ending) ?? ""
    }
  }

  private var ending: String? { cache.last.flatMap(ending) }

  private func ending(of last: SyncRecord) -> String? {
    switch last.outcome {
    case .published: return "All is well: sync \(last.id) published what has changed upstream."
    case .unchanged: return "All is well: sync \(last.id) found no change upstream."
    case .tried: return "Sync \(last.id) was a trial: it has pulled everything and published nothing."
    case .cancelled: return "Sync \(last.id) was cancelled; what it pulled is kept for the next."
    case .interrupted:
      return "Sync \(last.id) was interrupted when its process ended; what it pulled is kept for the next."
    case .running, .failed: return nil
    }
  }

  private var running: String {
    guard let current = sync.current else { return "A sync runs." }
    let retries = current.retries > 0 ? ", \(current.retries.counted(as: "request")) repeated" : ""
    let held = upstream.heldUntil.map { " Upstream wants no request before \($0); it waits for that." } ?? ""
    return "Sync \(current.id) runs since \(current.startedAt): \(current.progressText)\(retries).\(held)"
      + (main == nil ? "" : " The one before had trouble.")
  }

  fileprivate var readers: String {
    if cache.older == .read { return "They see the cache of an older rosterd until the first sync has published." }
    guard let snapshot = cache.snapshot, let published = cache.publishedAt else {
      return "There is no snapshot yet: the tables are empty."
    }
    let verified = cache.verifiedAt.flatMap { $0 <= published ? nil : ", and upstream had the same at \($0)" } ?? ""
    return
      "They see the snapshot of sync \(snapshot), whole: \(cache.records.counted(as: "record")), published at \(published)\(verified)."
      + (cache.definitionNote.map { " But \($0)." } ?? "")
  }

  /// The steps to take if there is no diagnosis.
  fileprivate var nothing: String {
    switch state {
    case .syncing: "Nothing; rosterctl watch shows how far it is."
    case .starting: "Nothing; rosterctl wait returns once there is a snapshot."
    case .stopping: "Nothing; it takes no longer than 5 s."
    case .idle, .degraded, .unauthorized: "Nothing."
    }
  }
}
