import RosterModel

extension Interceptor {
  /// A GET on a kept connection that ends before an answer begins is sent once more, at once, on a new one (P11): above
  /// the token and the limits, which hold for what is sent, not for what is asked for (T2).
  package static let resend = Interceptor { request, next in
    do { return try await next(request) } catch let fault as RequestFault
      where fault.isResent(request)
    {
      var again = request
      again.needsNewConnection = true
      return try await next(again)
    }
  }
}

extension RequestFault {
  /// Whether another sending takes the place of the one that ended so: of a GET.
  func isResent(_ request: Request) -> Bool { isOfKeptConnection && request.method == .get }
}
