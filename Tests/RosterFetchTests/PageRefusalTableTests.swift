import FoundationEssentials
import Logging
import RosterAuth
import RosterCore
import RosterFetch
import RosterTestSupport
import Synchronization
import Testing

/// The answer of a page × the knowledge of the session → the outcome, and the number of token and page requests.
@Suite(.timeLimit(.minutes(1)))
struct PageRefusalTableTests {
  /// The answers of pages that may be about the token.
  enum Answer: String, CaseIterable {
    case unauthorized, invalidToken403, invalidToken400, insufficientScope401, insufficientScope403, forbidden, spent
    case named419, namedByCondition, logout
  }

  /// The knowledge of the session when the page is answered.
  enum Known: String, CaseIterable {
    /// A token of which nothing is known in this sync. Upstream knows only its successor.
    case unknown
    /// The same, and upstream refuses each token for this list, while another list succeeded before.
    case otherListWorks
    /// The same, and no list has succeeded.
    case nothingWorks
    /// A token that cannot be replaced.
    case fixed
  }

  struct Outcome: Equatable, CustomStringConvertible {
    /// "page", the status of a final answer, or the trouble of the failure.
    var end: String
    var tokenRequests: Int
    var pageRequests: Int
    var description: String { "\(end), \(tokenRequests) token requests, \(pageRequests) page requests" }

    init(_ end: String, _ tokenRequests: Int, pages: Int) {
      (self.end, self.tokenRequests, pageRequests) = (end, tokenRequests, pages)
    }
  }

  /// Answers about the token cause one refresh and one repeat. If a fresh token is refused, it is tried three more
  /// times. A request that had succeeded then decides.
  private static let table: [Known: [(answers: [Answer], outcome: Outcome)]] = [
    .unknown: [
      (
        [.unauthorized, .invalidToken403, .invalidToken400, .named419, .namedByCondition], Outcome("page", 1, pages: 2)
      ),
      ([.insufficientScope401], Outcome("401", 0, pages: 1)),
      ([.insufficientScope403, .forbidden, .spent], Outcome("403", 0, pages: 1)),
      ([.logout], Outcome("loggedOut", 0, pages: 1)),
    ],
    .otherListWorks: [
      ([.unauthorized], Outcome("401", 1, pages: 6)),
      ([.invalidToken403], Outcome("403", 1, pages: 6)),
      ([.invalidToken400], Outcome("400", 1, pages: 6)),
      ([.named419], Outcome("419", 1, pages: 6)),
      ([.namedByCondition], Outcome("page", 1, pages: 6)),
      ([.insufficientScope401], Outcome("401", 0, pages: 1)),
      ([.insufficientScope403, .forbidden, .spent], Outcome("403", 0, pages: 1)),
      ([.logout], Outcome("loggedOut", 0, pages: 1)),
    ],
    .nothingWorks: [
      (
        [.unauthorized, .invalidToken403, .invalidToken400, .named419, .namedByCondition],
        Outcome("freshRefused", 1, pages: 5)
      ),
      ([.insufficientScope401], Outcome("401", 0, pages: 1)),
      ([.insufficientScope403, .forbidden, .spent], Outcome("403", 0, pages: 1)),
      ([.logout], Outcome("loggedOut", 0, pages: 1)),
    ],
    .fixed: [
      (
        [.unauthorized, .invalidToken403, .invalidToken400, .named419, .namedByCondition],
        Outcome("credential", 0, pages: 1)
      ),
      ([.insufficientScope401], Outcome("401", 0, pages: 1)),
      ([.insufficientScope403, .forbidden, .spent], Outcome("403", 0, pages: 1)),
      ([.logout], Outcome("loggedOut", 0, pages: 1)),
    ],
  ]

  private static func response(_ answer: Answer) -> Response {
    func challenge(_ error: String) -> [Request.Header] { [.init("WWW-Authenticate", "Bearer error=\"\(error)\"")] }
    return switch answer {
    case .unauthorized: Response(status: 401)
    case .invalidToken403: Response(status: 403, headers: challenge("invalid_token"))
    case .invalidToken400: Response(status: 400, headers: challenge("invalid_token"))
    case .insufficientScope401: Response(status: 401, headers: challenge("insufficient_scope"))
    case .insufficientScope403: Response(status: 403, headers: challenge("insufficient_scope"))
    case .forbidden: Response(status: 403)
    case .spent: Response(status: 403, headers: [.init("x-ratelimit-remaining", "0")])
    case .named419: Response(status: 419)
    case .namedByCondition: Response(status: 200, body: Array(#"{"error":"jwt expired"}"#.utf8))
    case .logout: Response(status: 440)
    }
  }

  @Test("34: each answer of a page has the outcome and the requests of the table", arguments: Known.allCases)
  func row(known: Known) async throws {
    let row = try #require(Self.table[known])
    for answer in Answer.allCases {
      let expected = try #require(row.first { $0.answers.contains(answer) }?.outcome, "\(answer)")
      let outcome = try await outcome(of: answer, known: known)
      #expect(outcome == expected, "\(known) × \(answer)")
    }
  }

  private func outcome(of answer: Answer, known: Known) async throws -> Outcome {
    let folder = FileManager.default.temporaryDirectory.path + "/rosterd-refusals-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let grants = Mutex(0)
    let pages = Mutex(0)
    let keeper = TokenKeeper(
      settings: TokenSettings(
        flow: known == .fixed ? .static : .oauth2Refresh, tokenURL: "http://localhost/token",
        baseOrigin: "http://localhost:80", tokenOrigin: "http://localhost:80", storePath: folder + "/token.json"),
      credentials: { _ in .init(refreshToken: Secret("r"), accessToken: Secret("a0")) },
      send: { _ in
        let number = grants.withLock { number in
          number += 1
          return number
        }
        return Response(status: 200, body: Array("{\"access_token\":\"a\(number)\",\"expires_in\":3600}".utf8))
      },
      clock: WallClock(now: { Date(timeIntervalSince1970: 1_700_000_000) }, sleep: { _ in }, uptime: { .zero }),
      report: { _ in }, onStatus: { _ in }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    try await keeper.open()
    try await keeper.syncBegins()
    var expired = ExpiredAnswers()
    expired.statuses = [419]
    expired.conditions = [.init(JSONPointer(segments: ["error"]), .present)]
    let send = Interceptor.chain([
      .authorize(keeper, baseURL: "http://localhost", logout: [440], expired: expired)
    ]) { request in
      pages.withLock { $0 += 1 }
      let token = Response(status: 0, headers: request.headers)["Authorization"]
      let works = request.url.hasSuffix("items") || (known == .unknown && token != "Bearer a0")
      return works ? Response(status: 200, body: Array("{}".utf8)) : Self.response(answer)
    }
    @Sendable func get(_ list: String) async throws -> Response {
      try await RequestContext.$current.withValue(.init(resource: list)) {
        try await send(Request(.get, "http://localhost/\(list)"))
      }
    }
    if known == .otherListWorks { _ = try await get("items") }
    pages.withLock { $0 = 0 }
    var end: String
    do {
      let status = try await get("tags").status
      end = status == 200 ? "page" : "\(status)"
    } catch let failure as Failure { end = failure.trouble.rawValue }
    return Outcome(end, grants.withLock { $0 }, pages: pages.withLock { $0 })
  }
}
