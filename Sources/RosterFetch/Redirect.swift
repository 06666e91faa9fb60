import FoundationEssentials
import RosterModel

extension Interceptor {
  /// Follows up to five redirects within one origin (P11); a token never goes along to another (T8).
  package static let redirects = Interceptor { asked, next in
    var request = asked
    for hop in 0...mostRedirects {
      let response = try await naming(asked, for: request) {
        try await RequestContext.$hop.withValue(hop) { try await next(request) }
      }
      guard let location = response.redirect else { return response }
      request.url = try target(of: location, from: request, asked)
    }
    throw refused(asked, "upstream redirects more than \(mostRedirects) times")
  }

  /// A failure names what was asked for: where a redirect leads is upstream's text, and may repeat a secret (T9).
  private static func naming(
    _ asked: Request, for request: Request, _ send: () async throws -> Response
  ) async throws -> Response {
    do { return try await send() } catch var failure as Failure {
      if failure.subject == request.url { failure.subject = asked.url }
      throw failure
    }
  }

  private static let mostRedirects = 5

  private static func target(of location: String, from request: Request, _ asked: Request) throws -> String {
    guard let base = URL(string: request.url), let url = URL(string: location, relativeTo: base)?.absoluteURL,
      let origin = Origin(url: url.absoluteString)
    else { throw refused(asked, "upstream redirects to what is no URL") }
    let home = Origin(url: request.url)
    guard origin == home else {
      throw refused(asked, "upstream redirects to \(other(origin, than: home))")
    }
    return url.absoluteString
  }

  /// A host's name is upstream's text, and may repeat a secret (T9).
  private static func other(_ origin: Origin, than home: Origin?) -> String {
    origin.host == home?.host ? "another origin, \(origin)" : "another host"
  }

  private static func refused(_ request: Request, _ cause: String) -> Failure {
    Failure(
      .badAnswer, step: "follow", subject: request.url, cause: cause,
      hint: "set upstream.base_url to where the API is now")
  }
}

extension Response {
  fileprivate var redirect: String? {
    [301, 302, 303, 307, 308].contains(status) ? self["Location"] : nil
  }
}
