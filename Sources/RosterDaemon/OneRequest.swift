import FoundationEssentials
import RosterFetch
package import RosterModel

/// `rosterd infer`: one page asked for once, without a daemon, a session or a retry.
package enum OneRequest {
  /// Redirects within the origin are followed; headers are sent beside User-Agent and Accept, which they may replace.
  /// - Throws: a Failure that does not repeat the query of the address (T9): 77 for 401 and 403, 69 where nothing
  ///   answers or upstream wants no request now (403 with nothing remaining too), 65 for any other status but
  ///   200, and 206 with a Content-Range.
  package static func answer(
    from url: String, headers: [Request.Header], proxies: ProxyRules, systemRoots: RootPlaces
  ) async throws -> Response {
    let transport = HTTPTransport(
      HTTPTransport.Settings(connections: 1, roots: .system(SystemRoots(systemRoots)), proxies: proxies))
    let send = Interceptor.chain([.headers(headers), .redirects, .resend], to: transport.send)
    do {
      let response = try await send(Request(.get, url))
      if let refusal = refusal(response) { throw refusal }
      await transport.shutdown()
      return response
    } catch {
      await transport.shutdown()
      guard let fault = error as? RequestFault else { throw error }
      var failure = fault.failure(step: "ask", subject: url.queryMasked)
      failure.hint = hint(fault) ?? fault.hint
      throw failure
    }
  }

  /// nil: it is the answer.
  private static func refusal(_ response: Response) -> RequestFault? {
    let status = response.status
    // PostgREST answers 206 where a Content-Range has the total (G3.2).
    if status == 200 || status == 206 && response["Content-Range"] != nil { return nil }
    let kind: Failure.Kind =
      switch status {
      case _ where response.isRateLimit: .unreachable
      case 401, 403: .refused
      case 408, 500...599: .unreachable
      default: .badAnswer
      }
    return RequestFault(
      kind, cause: "upstream answered \(status)\(response.pauseClause(now: Date()))", reason: .status(status))
  }

  /// Those of a sync speak of its configuration, which there is not yet. nil: the fault's own holds.
  private static func hint(_ fault: RequestFault) -> String? {
    switch (fault.kind, fault.reason) {
    case _ where fault.isOfProxy: nil
    case (.refused, _): "give the credential that it wants, as in --header \"Authorization: Bearer …\""
    case (_, .status(405)): "if it wants a POST, give an answer to one to rosterd infer - on standard input"
    case (.unreachable, .status): "try again later"
    case (_, .status): "give the address of a list, as the API's documentation has it"
    case (_, .tooLarge): "ask for fewer records a page"
    case (.badAnswer, nil): "give the address that it leads to"
    case (.unreachable, nil): nil
    default: "see whether the address is right and its server up"
    }
  }
}
