import RosterCore

extension Interceptor {
  /// Sends requests for which `limit.budget` has room. In the chain it follows the interceptors that send a request
  /// several times, so that each attempt and each redirect counts.
  package static func budget(_ ledger: BudgetLedger) -> Interceptor {
    Interceptor { request, next in
      let number = try await ledger.spend()
      do {
        let response = try await next(request)
        ledger.ended(number, isSent: true)
        return response
      } catch {
        ledger.ended(number, isSent: (error as? Failure)?.exchange?.isUnsent != true)
        throw error
      }
    }
  }

  /// Delays token requests by `limit.rate`. Token requests do not need a token themselves.
  package static func pace(_ pacer: RequestPacer) -> Interceptor {
    Interceptor { request, next in
      try await pacer.turn(ahead: true)
      return try await next(request)
    }
  }
}
