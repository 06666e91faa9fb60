package import RosterModel

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
