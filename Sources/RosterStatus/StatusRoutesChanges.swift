internal import RosterModel

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
