package import RosterModel

extension Interceptor {
  /// Counts every exchange that takes place, as the last link before the transport. If a kept connection ends, the
  /// exchange and its repetition count as one (P11). A request whose token expires before it has a connection is not
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
