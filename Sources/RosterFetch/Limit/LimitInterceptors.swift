import RosterModel

extension Interceptor {
  /// Sends what `limit.budget` has room for: next to the transport, so that each attempt and each redirect hop counts.
  package static func budget(_ ledger: BudgetLedger) -> Interceptor {
    Interceptor { request, next in
      let number = try await ledger.spend()
      do {
        let response = try await next(request)
        ledger.ended(number, isSent: true)
        return response
      } catch {
        ledger.ended(number, isSent: (error as? RequestFault)?.isUnsent != true)
        throw error
      }
    }
  }

  /// Waits for `limit.rate`: of token requests, which take no token themselves.
  package static func pace(_ pacer: RequestPacer) -> Interceptor {
    Interceptor { request, next in
      try await pacer.turn(ahead: true)
      return try await next(request)
    }
  }
}
