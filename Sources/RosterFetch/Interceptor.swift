package import RosterModel

/// One link between a caller and the network. It may change the request, send it, send it again, or answer itself.
package struct Interceptor: Sendable {
  private let intercept: @Sendable (Request, @escaping Send) async throws -> Response

  /// - Parameter intercept: handles the request, and can call the next link.
  package init(_ intercept: @escaping @Sendable (Request, @escaping Send) async throws -> Response) {
    self.intercept = intercept
  }

  /// Builds the chain. The first interceptor receives the request first and the answer last.
  package static func chain(_ interceptors: [Interceptor], to send: @escaping Send) -> Send {
    var chain = send
    for interceptor in interceptors.reversed() { chain = { [chain] in try await interceptor.intercept($0, chain) } }
    return chain
  }
}
