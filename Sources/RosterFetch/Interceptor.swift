package import RosterModel

/// One link between a caller and the network: it may change the request, send it, send it again, or answer itself.
package struct Interceptor: Sendable {
  private let intercept: @Sendable (Request, @escaping Send) async throws -> Response

  /// - Parameter intercept: is given the request, and the next link.
  package init(_ intercept: @escaping @Sendable (Request, @escaping Send) async throws -> Response) {
    self.intercept = intercept
  }

  /// The first of the list sees the request first and the answer last.
  package static func chain(_ interceptors: [Interceptor], to send: @escaping Send) -> Send {
    var chain = send
    for interceptor in interceptors.reversed() { chain = { [chain] in try await interceptor.intercept($0, chain) } }
    return chain
  }
}
