import RosterModel

extension Interceptor {
  /// Sends a GET once more, at once and on a new connection, if its kept connection ended before an answer began (P11).
  /// It precedes the token and the limits, which apply to each sending (T2).
  package static let resend = Interceptor { request, next in
    do { return try await next(request) } catch let fault as Failure
      where fault.isResent(request)
    {
      var again = request
      again.needsNewConnection = true
      return try await next(again)
    }
  }
}

extension Failure {
  /// True if a failed sending is repeated, which applies to a GET.
  func isResent(_ request: Request) -> Bool { exchange?.isOfKeptConnection == true && request.method == .get }
}
