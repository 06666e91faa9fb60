package import Logging
package import RosterModel

extension Interceptor {
  /// Logs one line per exchange at `debug`. Headers, bodies and targets of redirects are not logged, because they
  /// contain secrets (T9).
  package static func log(to logger: Logger, clock: WallClock) -> Interceptor {
    Interceptor { request, next in
      guard logger.logLevel <= .debug else { return try await next(request) }
      let started = clock.uptime()
      var metadata: Logger.Metadata = ["method": "\(request.method.rawValue)"]
      let hop = RequestContext.hop
      metadata[hop == 0 ? "url" : "hop"] = hop == 0 ? "\(request.ownURL)" : "\(hop)"
      if let sync = RequestContext.current.sync { metadata["sync"] = "\(sync)" }
      if let page = RequestContext.current.page {
        metadata["resource"] = "\(page.resource)"
        metadata["page"] = "\(page.number)"
      }
      do {
        let response = try await next(request)
        metadata["status"] = "\(response.status)"
        metadata["seconds"] = .stringConvertible((clock.uptime() - started).seconds)
        logger.debug("answered", metadata: metadata)
        return response
      } catch {
        logger.debug("not answered: \((error as? Failure)?.cause ?? "cancelled")", metadata: metadata)
        throw error
      }
    }
  }
}
