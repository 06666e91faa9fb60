import FoundationEssentials
import RosterModel

extension Interceptor {
  /// Follows up to five redirects within one origin (P11). A token is never sent to another origin (T8). A POST remains
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

  /// A host's name is chosen by upstream, and may repeat a secret (T9).
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
  /// would count as unchanged (P6.1). An entity tag is hardly ever that of another body.
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
