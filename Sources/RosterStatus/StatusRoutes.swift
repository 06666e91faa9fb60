import Glibc
package import RosterCore
internal import RosterDecode

/// Decides the answers of the status socket. Pure: facts that are not on the board come from the closures.
package struct StatusRoutes: Sendable {
  private struct Syncs: Encodable { var syncs: [SyncRecord] }

  /// The permitted values of `limit` (docs/STATUS.md).
  private static let limits = 1...1000
  private static let defaultLimit = 20

  /// The facts that the answers contain.
  package let board: StatusBoard
  private let owner: UInt32
  private let alive: @Sendable () -> Bool
  let history: @Sendable (SyncsRequest) async throws -> [SyncRecord]
  private let sync: @Sendable (SyncRequest) async throws -> SyncRequest.Accepted
  let feed: @Sendable (FeedRequest) async throws -> FeedAnswer
  private let cancel: @Sendable () async -> Int64?
  private let rejected: @Sendable () async throws -> [AffectedItem]
  private(set) var offersAll = true

  /// `owner` may request a sync, as root may. `alive` is true if the daemon's loop and the current sync are alive.
  /// `history` reads the latest syncs, `feed` reads the changes, and `sync` requests a sync. `cancel` ends the current
  /// sync and returns its id; nil if no sync runs. `rejected` reads the first records that could not be stored.
  package init(
    board: StatusBoard, owner: UInt32 = getuid(), alive: @escaping @Sendable () -> Bool = { true },
    history: @escaping @Sendable (SyncsRequest) async throws -> [SyncRecord],
    sync: @escaping @Sendable (SyncRequest) async throws -> SyncRequest.Accepted,
    feed: @escaping @Sendable (FeedRequest) async throws -> FeedAnswer,
    cancel: @escaping @Sendable () async -> Int64?,
    rejected: @escaping @Sendable () async throws -> [AffectedItem] = { [] }
  ) {
    self.board = board
    self.owner = owner
    self.alive = alive
    self.history = history
    self.sync = sync
    self.feed = feed
    self.cancel = cancel
    self.rejected = rejected
  }

  /// The routes of the metrics socket: those for monitors.
  package var ofMonitors: StatusRoutes {
    var routes = self
    routes.offersAll = false
    return routes
  }

  /// HEAD has the same answer as GET; the connection omits the body (RFC 9110 §9.3.2).
  package func answer(_ request: StatusRequest) -> StatusAnswer {
    let path = request.path
    if let why = request.crossSiteRefusal(isMonitoring: Self.isMonitoring(path)) {
      return .now(.problem(403, detail: why))
    }
    if !offersAll, !Self.isMonitoring(path) {
      return .now(
        .problem(403, detail: "\(path) is not offered here, since any local user may ask; use the status socket"))
    }
    if let why = Self.queryRefusal(request, path: path) { return .now(.problem(400, detail: why)) }
    return route(request, path: path)
  }

  /// The reason why the query is refused; nil if it is accepted.
  private static func queryRefusal(_ request: StatusRequest, path: String) -> String? {
    guard let known = parameters[path] else { return nil }
    if let other = request.queryParameter(otherThan: known) {
      let takes = known.isEmpty ? "it takes none" : "it takes \(known.joined(separator: ", "))"
      return "\(path) has no parameter \(other); \(takes)"
    }
    return request.repeatedParameter.map { "the parameter \($0) occurs more than once; name it once" }
  }

  static func isMonitoring(_ path: String) -> Bool { ["/metrics", "/healthz", "/readyz"].contains(path) }

  /// The permitted query parameters of each path.
  private static let parameters: [String: [String]] = [
    "/": [], "/page.css": [], "/page.js": [], "/page.svg": [], "/v1/status": [], "/v1/explain": [],
    "/v1/syncs": ["limit", "resources"], "/v1/changes": ["since", "feed", "resource", "limit", "wait"],
    "/v1/events": [], "/v1/sync": [], "/v1/cancel": [], "/metrics": [], "/healthz": [], "/readyz": ["max_age"],
    "/openapi.json": [],
  ]

  private func route(_ request: StatusRequest, path: String) -> StatusAnswer {
    let reads = request.method == "GET" || request.method == "HEAD"
    switch path {
    case "/v1/sync", "/v1/cancel":
      guard request.method == "POST" else { return .now(Self.notAllowed(path, allow: "POST")) }
      return path == "/v1/sync" ? startSync(request) : cancelSync(request)
    case "/" where reads: return page()
    case "/v1/status" where reads: return .now(.json(200, value: StatusDocument(board.status())))
    case "/v1/explain" where reads: return explanation()
    case "/v1/syncs" where reads: return syncs(request)
    case "/v1/changes" where reads: return changes(request)
    case "/v1/events" where reads: return events(request)
    case "/metrics" where reads: return .now(.text(200, text: board.metricsText(), type: Self.metricsType))
    case "/healthz" where reads: return .now(health())
    case "/readyz" where reads: return .now(readiness(request))
    case "/openapi.json" where reads: return .now(.text(200, text: Self.openAPI, type: Response.jsonType))
    case _ where Self.parameters[path] == nil: return .now(.problem(404, detail: "nothing is at \(path)"))
    case _ where !reads: return .now(Self.notAllowed(path, allow: "GET, HEAD"))
    default: return .now(Self.pageAsset(path) ?? .problem(404, detail: "nothing is at \(path)"))
    }
  }

  private static let metricsType = "text/plain; version=0.0.4; charset=utf-8"

  private static func notAllowed(_ path: String, allow: String) -> Response {
    .problem(405, detail: "\(path) takes \(allow)", headers: [Request.Header("Allow", allow)])
  }
}

// MARK: Single routes

extension StatusRoutes {
  private func health() -> Response {
    alive()
      ? .text(200, text: "ok\n")
      : .problem(
        503,
        detail: "the daemon's loop does not answer, or its sync has not moved for too long; /v1/status has the message")
  }

  /// Only rejected records need the database. If it cannot be read, the rest of the explanation is complete.
  private func explanation() -> StatusAnswer {
    let situation = board.situation()
    guard situation.cache.last?.rejected ?? 0 > 0 else { return .now(.json(200, value: Explanation(situation))) }
    return .later {
      var situation = situation
      situation.rejected = (try? await rejected()) ?? []
      return .json(200, value: Explanation(situation))
    }
  }

  private func readiness(_ request: StatusRequest) -> Response {
    var limit: Duration?
    if let text = request.query("max_age") {
      limit = Duration(text: text)
      if limit == nil {
        return .problem(400, detail: "max_age is \(text); it must be a duration such as 500ms, 15m or 2h")
      }
    }
    guard let age = board.status().cache.ageSeconds else { return .problem(503, detail: "there is no snapshot yet") }
    if let limit, age > limit.seconds {
      return .problem(503, detail: "the snapshot was last verified \(age) s ago, longer than \(limit.text)")
    }
    return .text(200, text: "ok\n")
  }

  private func events(_ request: StatusRequest) -> StatusAnswer {
    // An invalid Last-Event-ID becomes 0: the reader has lost everything before the kept events.
    .events(after: request.header("last-event-id").map { UInt64($0) ?? 0 })
  }

  private func syncs(_ request: StatusRequest) -> StatusAnswer {
    do throws(BadParameter) {
      let wanted = SyncsRequest(
        limit: try Self.limit(request, default: Self.defaultLimit), withResources: try Self.withResources(request))
      return .later {
        do { return .json(200, value: Syncs(syncs: try await history(wanted))) } catch { return Self.problem(error) }
      }
    } catch {
      return .now(error.response)
    }
  }

  private static func withResources(_ request: StatusRequest) throws(BadParameter) -> Bool {
    guard let text = request.query("resources") else { return false }
    guard let value = Bool(text) else { throw BadParameter("resources", text: text, allowed: "true or false") }
    return value
  }

  static func limit(_ request: StatusRequest, default usual: Int) throws(BadParameter) -> Int {
    guard let text = request.query("limit") else { return usual }
    guard let limit = wholeNumber(text), limits.contains(Int(clamping: limit)) else {
      throw BadParameter("limit", text: text, allowed: "a whole number from 1 to 1000")
    }
    return Int(limit)
  }

  /// `+5` is refused, because a form's escape for a space is a plus.
  static func wholeNumber(_ text: String) -> Int64? { text.utf8.first == UInt8(ascii: "+") ? nil : Int64(text) }

  private func isOwn(_ request: StatusRequest) -> Bool { request.peer == 0 || request.peer == owner }

  private func startSync(_ request: StatusRequest) -> StatusAnswer {
    guard isOwn(request) else {
      return .now(.problem(403, detail: "only root and the daemon's own user may ask for a sync"))
    }
    guard let wanted = SyncRequest(body: request.body) else {
      return .now(.problem(400, detail: SyncRequest.refusal(of: request.body)))
    }
    return .later {
      do { return .json(202, value: try await sync(wanted)) } catch is SyncRequest.Conflict {
        return .problem(
          409, detail: "the running sync is not fresh; ask again after its end", exit: Failure.Kind.cancelled.exitCode)
      } catch { return Self.problem(error) }
    }
  }

  private func cancelSync(_ request: StatusRequest) -> StatusAnswer {
    struct Cancelled: Encodable { var sync: Int64 }
    guard isOwn(request) else {
      return .now(.problem(403, detail: "only root and the daemon's own user may cancel a sync"))
    }
    return .later {
      if let sync = await cancel() { return .json(202, value: Cancelled(sync: sync)) }
      return .problem(409, detail: "no sync runs", exit: Failure.Kind.cancelled.exitCode)
    }
  }

  static func problem(_ error: any Error) -> Response {
    let kind = (error as? Failure)?.kind
    return .problem(kind == .defect ? 500 : 503, detail: "\(error)", exit: kind?.exitCode)
  }
}

struct BadParameter: Error {
  let response: Response

  init(_ name: String, text: String, allowed: String) {
    response = .problem(400, detail: "\(name) is \(text); it must be \(allowed)")
  }
}

extension SyncRequest {
  private static let keys = ["allow_removal", "retry_session", "new_token", "fresh"]

  /// The reason why `init(body:)` refuses a body. An unknown key is named, as for a query.
  fileprivate static func refusal(of body: [UInt8]) -> String {
    if let other = members(of: body)?.map(\.name).first(where: { !keys.contains($0) }) {
      return "the body has the unknown key \(other); it takes \(keys.joined(separator: ", "))"
    }
    let form = #"{"allow_removal": true, "retry_session": true, "new_token": true, "fresh": true}"#
    return "the body must be empty or a JSON object such as \(form)"
  }

  /// nil if the body is not the documented one. An unknown key could be a misspelt permission.
  fileprivate init?(body: [UInt8]) {
    self.init()
    if body.isEmpty { return }
    guard let members = Self.members(of: body) else { return nil }
    for member in members {
      guard case .boolean(let value) = member.value else { return nil }
      switch member.name {
      case "allow_removal": allowRemoval = value
      case "retry_session": retrySession = value
      case "new_token": wantsNewToken = value
      case "fresh": isFresh = value
      default: return nil
      }
    }
  }

  private static func members(of body: [UInt8]) -> [JSONValue.Member]? {
    if case .object(let members)? = try? JSONValue(json: body) { members } else { nil }
  }
}

/// `GET /v1/changes`: its parameters, and the answers of the feed.
extension StatusRoutes {
  private static let usualChanges = 100
  /// A client that needs to notice a dead daemon earlier asks for less.
  private static let maxWait = Duration.seconds(60)

  func changes(_ request: StatusRequest) -> StatusAnswer {
    do throws(BadParameter) {
      let wait = try Self.wait(request)
      let wanted = try Self.feedRequest(request)
      let look: @Sendable () async -> Polled = { await polled(wanted) }
      return wait == .zero ? .later { await look().response } : .longPoll(wait, look)
    } catch {
      return .now(error.response)
    }
  }

  private static func feedRequest(_ request: StatusRequest) throws(BadParameter) -> FeedRequest {
    let text = request.query("since")
    guard let since = text.flatMap(wholeNumber), since >= 0 else {
      throw BadParameter("since", text: text ?? "missing", allowed: "the id of a change, or 0")
    }
    return FeedRequest(
      since: since, feed: request.query("feed"), resource: request.query("resource"),
      limit: try limit(request, default: usualChanges))
  }

  private static func wait(_ request: StatusRequest) throws(BadParameter) -> Duration {
    guard let text = request.query("wait") else { return .zero }
    guard let wait = Duration(text: text), wait <= maxWait else {
      throw BadParameter("wait", text: text, allowed: "a duration from 0s to 60s")
    }
    return wait
  }

  private func polled(_ wanted: FeedRequest) async -> Polled {
    do {
      switch try await feed(wanted) {
      case .page(let json, let isEmpty):
        let type = [Request.Header("Content-Type", Response.jsonType)]
        return Polled(response: Response(status: 200, headers: type, body: json), hasNews: !isEmpty)
      case .readAnew(let why):
        let detail = "cannot go on after change \(wanted.since): \(why); read everything again"
        return Polled(response: .problem(410, detail: detail, type: Problem.readAnew), hasNews: true)
      case .noResource(let sentence): return Polled(response: .problem(400, detail: sentence), hasNews: true)
      }
    } catch {
      return Polled(response: Self.problem(error), hasNews: true)
    }
  }
}
