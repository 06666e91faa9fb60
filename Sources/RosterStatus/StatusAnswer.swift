package import RosterCore
internal import RosterDecode

/// The answer of a route to a request.
package enum StatusAnswer: Sendable {
  case now(Response)
  /// The answer needs the database or the sync loop. Only this connection waits for it.
  case later(@Sendable () async -> Response)
  /// An answer that is made again with each snapshot until it has news, for at most this duration.
  case longPoll(Duration, @Sendable () async -> Polled)
  /// The event stream, after the event of that id if the reader named one.
  case events(after: UInt64?)
}

/// The current answer for a client that waits for news (RFC 6202 §2).
package struct Polled: Sendable {
  /// The answer.
  package var response: Response
  /// True if the client need not wait any longer.
  package var hasNews: Bool
}

extension Response {
  static let jsonType = "application/json"

  static func json(_ status: Int, value: some Encodable, type: String = jsonType) -> Response {
    guard let line = try? value.jsonLine() else {
      return .text(500, text: "the answer cannot be written as JSON\n")
    }
    return Response(status: status, headers: [Request.Header("Content-Type", type)], body: Array(line))
  }

  static func text(_ status: Int, text: String, type: String = "text/plain; charset=utf-8") -> Response {
    Response(status: status, headers: [Request.Header("Content-Type", type)], body: Array(text.utf8))
  }

  /// An error in the form of RFC 9457. `detail` is one sentence for the author of the request.
  /// - Parameter exit: the exit code of the command that sends the request, if only the daemon can determine it.
  static func problem(
    _ status: Int, detail: String, type: String = Problem.noType, exit: Int32? = nil, headers: [Request.Header] = []
  ) -> Response {
    let problem = Problem(type: type, title: title(of: status) ?? "Error", status: status, detail: detail, exit: exit)
    var response = json(status, value: problem, type: "application/problem+json")
    response.headers += headers
    return response
  }

  /// Headers of every answer: other sites cannot show it in a frame, load it, or read it as another type.
  static let seclusion = [
    Request.Header("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    Request.Header("X-Content-Type-Options", "nosniff"), Request.Header("Cross-Origin-Resource-Policy", "same-origin"),
    Request.Header("Referrer-Policy", "no-referrer"), Request.Header("Cross-Origin-Opener-Policy", "same-origin"),
  ]

  /// The reason phrase of an error that is answered here; nil for others.
  static func title(of status: Int) -> String? { titles[status] }

  /// RFC 9110 §15 and RFC 6585 §5 define these phrases.
  private static let titles = [
    400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout",
    409: "Conflict", 410: "Gone", 413: "Content Too Large", 431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented", 503: "Service Unavailable", 505: "HTTP Version Not Supported",
  ]
}

/// The body of RFC 9457 §3.1.
struct Problem: Codable, Equatable {
  /// The problem has no other meaning than its status (§4.2.1).
  static let noType = "about:blank"
  /// Used with 410: a follower of the feed must read everything again.
  static let readAnew = "about:blank#read-anew"

  var type = noType
  var title: String
  var status: Int
  var detail: String
  /// An extension member (§3.2).
  var exit: Int32?
}

extension DaemonStatus {
  /// The first state that applies, in the order of docs/STATUS.md. It depends only on stored facts, so that a restart
  /// does not change it.
  static func state(stopping: Bool, token: TokenStatus, sync: Sync, resources: [CachedResource]) -> State {
    let running = sync.current != nil
    if stopping { return .stopping }
    if token.state == .unauthorized { return .unauthorized }
    return running ? .syncing : State(after: sync.last, resources: resources)
  }

  /// The trouble that explains a state, for people; nil without trouble.
  /// - Parameter last: The last conclusive sync; without one, the last sync.
  static func reason(_ state: State, last: SyncRecord?, cache: CacheFacts, token: TokenStatus) -> String? {
    switch state {
    case .stopping, .starting: return nil
    case .syncing:
      guard let last, last.outcome == .failed else { return nil }
      return "the last sync failed: " + (last.error ?? "no reason known")
    case .unauthorized: return token.lastError ?? last?.error ?? "upstream refuses the credentials"
    case .degraded: return trouble(last, cache: cache)
    case .idle:
      guard cache.verifiedAt != nil else { return nil }
      let doubts = cache.emptied.map(\.complaint) + (last?.trouble.map { [$0.what] } ?? [])
      return doubts.isEmpty ? nil : doubts.joined(separator: "; ")
    }
  }

  private static func trouble(_ last: SyncRecord?, cache: CacheFacts) -> String {
    guard let last, last.isDegraded else { return failedLists(cache) }
    if let error = last.error { return "sync \(last.id) \(last.outcome.rawValue): \(error)" }
    guard last.rejected > 0 else { return "sync \(last.id) \(last.outcome.rawValue)" }
    return "sync \(last.id) rejected \(last.rejected.counted(as: "record")); `rosterctl rejects` tells the reasons"
  }

  private static func failedLists(_ cache: CacheFacts) -> String {
    let failed = cache.resources.filter { $0.failedLists > 0 }.map {
      "\($0.failedLists.counted(as: "list")) of \($0.name) failed"
    }
    return failed.joined(separator: ", ") + "; `rosterctl explain` says why"
  }

  /// The note about a log that a reader's transaction keeps large.
  static func heldLog(path: String, bytes: Int64) -> String {
    "a reader keeps a transaction open, so that \(path)-wal cannot shrink (\((bytes + 1023) / 1024) KiB): end it, `fuser -v` on that file names the program"
  }
}
