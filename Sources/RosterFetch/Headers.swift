package import RosterModel

extension Interceptor {
  /// Adds what every page request carries; configured headers replace User-Agent and Accept, a request's own replace both.
  package static func headers(_ configured: [Request.Header]) -> Interceptor {
    let own = [
      Request.Header("User-Agent", "rosterd/\(rosterdVersion)"), Request.Header("Accept", "application/json"),
    ]
    let standing = configured + own.filter { header in !configured.contains { $0.isNamed(header.name) } }
    return Interceptor { request, next in
      var request = request
      request.headers += standing.filter { header in !request.headers.contains { $0.isNamed(header.name) } }
      return try await next(request)
    }
  }
}

extension Request.Header {
  /// RFC 9110 §5.1: names are case-insensitive.
  package func isNamed(_ other: String) -> Bool { name.lowercased() == other.lowercased() }
}
