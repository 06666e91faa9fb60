import FoundationEssentials
package import Logging
package import RosterCore

/// One link between a caller and the network. It may change the request, send it, send it again, or answer itself.
package struct Interceptor: Sendable {
  private let intercept: @Sendable (Request, @escaping Send) async throws -> Response

  /// - Parameter intercept: handles the request, and can call the next link.
  package init(_ intercept: @escaping @Sendable (Request, @escaping Send) async throws -> Response) {
    self.intercept = intercept
  }

  /// Builds the chain. The first interceptor receives the request first and the answer last.
  package static func chain(_ interceptors: [Interceptor], to send: @escaping Send) -> Send {
    var chain = send
    for interceptor in interceptors.reversed() { chain = { [chain] in try await interceptor.intercept($0, chain) } }
    return chain
  }
}

extension Interceptor {
  /// Adds the headers of every page request. Configured headers replace User-Agent and Accept, and the request's own
  /// headers replace both.
  package static func headers(_ configured: [Request.Header]) -> Interceptor {
    let own = [
      Request.Header("User-Agent", "rosterd/\(rosterdVersion)"),
      // Some servers answer 406 unless their own media type, or any, is acceptable (RFC 9110 §12.5.1).
      Request.Header("Accept", "application/json, application/*+json;q=0.9, */*;q=0.1"),
    ]
    let standing = configured + own.filter { header in !configured.contains { $0.isNamed(header.name) } }
    return Interceptor { request, next in
      var request = request
      let own = request.headers.count
      for header in standing where !request.headers.prefix(own).contains(where: { $0.isNamed(header.name) }) {
        request.headers.append(header)
      }
      return try await next(request)
    }
  }
}

extension Interceptor {
  /// Logs one line per exchange at `debug`. Headers, bodies and targets of redirects are not logged, because they
  /// contain secrets.
  package static func log(to logger: Logger, clock: WallClock) -> Interceptor {
    Interceptor { request, next in
      guard logger.logLevel <= .debug else { return try await next(request) }
      let started = clock.uptime()
      var metadata: Logger.Metadata = ["method": "\(request.method.rawValue)"]
      let hop = RequestContext.hop
      metadata[hop == 0 ? "url" : "hop"] = hop == 0 ? "\(request.ownURL)" : "\(hop)"
      if let sync = RequestContext.current.sync { metadata["sync"] = "\(sync)" }
      if let page = RequestContext.current.page {
        metadata["resource"] = "\(page.resource)"
        metadata["page"] = "\(page.number)"
      }
      do {
        let response = try await next(request)
        metadata["status"] = "\(response.status)"
        metadata["seconds"] = .stringConvertible((clock.uptime() - started).seconds)
        logger.debug("answered", metadata: metadata)
        return response
      } catch {
        logger.debug("not answered: \((error as? Failure)?.cause ?? "cancelled")", metadata: metadata)
        throw error
      }
    }
  }
}

extension Interceptor {
  /// Counts every exchange that takes place, as the last link before the transport. If a kept connection ends, the
  /// exchange and its repetition count as one. A request whose token expires before it has a connection is not
  /// sent, and does not count.
  /// - Parameter measured: gets the status (nil without an answer), the duration and the received bytes.
  package static func measure(
    _ tally: Tally, clock: WallClock,
    measured: @escaping @Sendable (_ code: Int?, _ seconds: Double, _ bytes: Int) -> Void
  ) -> Interceptor {
    Interceptor { request, next in
      if !request.needsNewConnection { tally.update { $0.requested(RequestContext.current.resource) } }
      let started = clock.uptime()
      do {
        let response = try await next(request)
        tally.update { $0.bytes += response.received }
        measured(response.status, (clock.uptime() - started).seconds, response.received)
        return response
      } catch {
        let fault = error as? Failure
        guard fault?.isResent(request) != true else { throw error }
        if fault?.exchange?.isOfOutlivedToken == true {
          if !request.needsNewConnection { tally.update { $0.withdrawn(RequestContext.current.resource) } }
          throw error
        }
        let received = fault?.exchange?.received ?? 0
        tally.update { $0.bytes += received }
        measured(nil, (clock.uptime() - started).seconds, received)
        throw error
      }
    }
  }
}

extension Interceptor {
  /// Follows up to five redirects within one origin. A token is never sent to another origin. A POST remains
  /// a POST, except after a 303.
  package static let redirects = Interceptor { asked, next in
    var request = asked
    for hop in 0...maxRedirects {
      var response =
        RequestContext.hop == hop
        ? try await next(request)
        : try await RequestContext.$hop.withValue(hop) { [request] in try await next(request) }
      guard let location = response.redirect else {
        if hop > 0 { response.redirectedTo = request.url }
        return response
      }
      request.url = try target(of: location, from: request)
      if response.status == 303 { request.becomeGET() }
      if ![301, 308].contains(response.status) { request.forgetTime() }
    }
    throw refused("upstream redirects more than \(maxRedirects) times")
  }

  private static let maxRedirects = 5

  private static func target(of location: String, from request: Request) throws -> String {
    guard let base = URL(written: request.url), let url = URL(written: location, relativeTo: base)?.absoluteURL,
      let origin = Origin(url: url.absoluteString)
    else { throw refused("upstream redirects to an invalid URL") }
    let home = Origin(url: request.url)
    guard origin == home else {
      throw refused("upstream redirects to \(other(origin, than: home))")
    }
    return url.absoluteString
  }

  /// A host's name is chosen by upstream, and may repeat a secret.
  private static func other(_ origin: Origin, than home: Origin?) -> String {
    origin.host == home?.host ? "another origin, \(origin)" : "another host"
  }

  private static func refused(_ cause: String) -> Failure {
    Failure(
      .badAnswer, cause: cause,
      hint:
        "set upstream.base_url to where the API is now; for a page to log in set auth.expired.status to the redirect's"
    ).with(.redirect, [.header("Location")])
  }
}

extension Request {
  /// A temporary redirect may lead to another address each time. Its body may be older than the one that is stored, and
  /// would count as unchanged. An entity tag is hardly ever that of another body.
  fileprivate mutating func forgetTime() { headers.removeAll { $0.isNamed("If-Modified-Since") } }

  /// Turns the request into a GET: the answer is at another address (RFC 9110 §15.4.4).
  fileprivate mutating func becomeGET() {
    method = .get
    body = []
    headers.removeAll { $0.isNamed("Content-Type") }
  }
}

extension Response {
  fileprivate var redirect: String? {
    [301, 302, 303, 307, 308].contains(status) ? self["Location"] : nil
  }
}
