import RosterModel

extension Interceptor {
  /// A GET on a kept connection that ends before an answer begins is sent once more, at once, on a new one (P11): above
  /// the token and the limits, which hold for what is sent, not for what is asked for (T2).
  package static let resend = Interceptor { request, next in
    do { return try await next(request) } catch let fault as RequestFault
      where fault.isOfKeptConnection && request.method == .get
    {
      var again = request
      again.needsNewConnection = true
      return try await next(again)
    }
  }
}
