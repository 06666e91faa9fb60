/// The status in one sentence: the activity, the trouble, and the next step. It is made of the status's fields.
package struct Headline: Sendable, Equatable {
  /// The words for the times in a headline.
  package struct Times {
    /// A past time: `at 2026-01-01T12:00:00.000Z`, `3.2 s ago`.
    package var past: (String) -> String
    /// The start of the next sync: `at 2026-01-01T12:00:00.000Z`, `in 14 min`.
    package var next: (String) -> String

    /// Any words.
    package init(past: @escaping (String) -> String, next: @escaping (String) -> String) {
      self.past = past
      self.next = next
    }

    /// Times as in the status. systemd shows the sentence long after it was sent, when an age would be wrong.
    package static var absolute: Times { Times(past: { "at \($0)" }, next: { "at \($0)" }) }
  }

  /// nil if no daemon answers.
  private let state: DaemonStatus.State?
  /// The clauses, each as its facts.
  private let facts: [[String]]

  /// The clauses after the state.
  package var clauses: [String] { facts.map { $0.joined(separator: ", ") } }

  /// The headline without the state.
  package var sentence: String { clauses.joined(separator: "; ") }

  /// The headline with the state.
  package var text: String { (state.map { "\($0.rawValue): " } ?? "") + sentence }

  /// True if the headline has the fact, or a reason for it.
  package func has(_ fact: String) -> Bool {
    facts.joined().contains { $0 == fact || $0.hasPrefix(fact + ": ") }
  }

  /// The headline of a daemon.
  package init(_ status: DaemonStatus, times: Times = .absolute) {
    state = status.state
    let clauses = [status.activity(times), status.reason.map { [$0] }, status.standstill ?? status.planned(times)]
    facts = clauses.compactMap(\.self) + (status.state == .stopping ? [] : status.notes.map { [$0] })
  }

  /// The headline of a cache without a daemon, by its clauses.
  init(without facts: [[String]?]) {
    state = nil
    self.facts = facts.compactMap(\.self)
  }
}

extension DaemonStatus.State {
  /// The limit of the next sync in this state, for people; empty without one.
  package var limitOfNextSync: String {
    self == .unauthorized ? ", without a request unless a credential file has changed" : ""
  }
}

extension DaemonStatus {
  /// The headline for a log: `message` in the document.
  package var message: String { Headline(self).text }

  /// The activity of rosterd, or the data that readers see; nil if the reason says all.
  fileprivate func activity(_ times: Headline.Times) -> [String]? {
    switch state {
    case .stopping: ["the work in progress is being finished"]
    case .starting: ["no sync has ended yet"]
    case .syncing: sync.current?.activity
    case .unauthorized, .degraded: nil
    case .idle:
      cache.verifiedAt.map { [cache.records.counted(as: "record"), "verified \(times.past($0))"] }
        ?? ["no sync has published yet"]
    }
  }

  /// A sync that hangs before its row is written is not the current sync.
  fileprivate var standstill: [String]? {
    guard state != .stopping, let since = sync.stalledSince else { return nil }
    let silence = "nothing has moved since \(since)"
    return [state == .syncing ? silence : "the sync that was due has not begun, and \(silence)"]
  }

  fileprivate func planned(_ times: Headline.Times) -> [String]? {
    switch state {
    case .stopping, .syncing, .unauthorized: nil
    case .starting, .degraded, .idle:
      sync.nextAt.map { ["next sync \(times.next($0))"] + (sync.heldBy.map { ["when \($0) holds it"] } ?? []) }
    }
  }
}

extension DaemonStatus.Current {
  fileprivate var activity: [String] {
    switch phase {
    case .discovering: ["asking for the first page"]
    case .pulling: [progressText] + (lists == nil ? [] : [pagesDone.counted(as: "page")])
    case .verifying: ["verifying \(pagesDone.counted(as: "page"))"]
    case .publishing: ["publishing \(records.counted(as: "record"))"]
    }
  }
}

/// The document of `/v1/status`: the fields, and the sentence that is made of them.
package struct StatusDocument: Encodable, Sendable {
  private let status: DaemonStatus

  /// Any status.
  package init(_ status: DaemonStatus) { self.status = status }

  enum CodingKeys: String, CodingKey {
    case message, clauses
  }

  /// Writes the fields and the sentence into one object.
  package func encode(to encoder: any Encoder) throws {
    try status.encode(to: encoder)
    var members = encoder.container(keyedBy: CodingKeys.self)
    let headline = Headline(status)
    try members.encode(headline.text, forKey: .message)
    try members.encode(headline.clauses, forKey: .clauses)
  }
}
