import NIOHTTP1
import RosterModel

/// A request in the form in which it is written.
struct Message: Sendable {
  let method: Request.Method
  let way: Route.Way
  let head: HTTPRequestHead
  let body: [UInt8]

  /// Throws a `Failure`.
  init(_ request: Request, target: RequestTarget, by route: Route) throws {
    method = request.method
    way = route.way
    body = request.body
    var headers = HTTPHeaders()
    headers.reserveCapacity(request.headers.count + Self.ownHeaders)
    headers.add(name: "Host", value: route.host)
    for header in request.headers {
      guard header.name.isHTTPToken, header.value.hasOnly(Self.isOfLine) else { throw Failure.unusableRequest }
      headers.add(name: header.name, value: header.value)
    }
    headers.add(name: "Accept-Encoding", value: "gzip")
    if request.method == .post { headers.add(name: "Content-Length", value: "\(body.count)") }
    var uri = target.path
    if case .relayed(let proxy) = route.way {
      // RFC 9112 §3.2.2
      uri = "http://\(route.host)\(uri)"
      if let authorization = proxy.authorization {
        headers.add(name: "Proxy-Authorization", value: "Basic \(authorization.reveal())")
      }
    }
    head = HTTPRequestHead(
      version: .http1_1, method: request.method == .get ? .GET : .POST, uri: uri, headers: headers)
  }

  /// Largest number of headers that are added to the request's own.
  private static let ownHeaders = 4

  /// False for a byte that would begin another field (RFC 9110 §5.5).
  private static func isOfLine(_ byte: UInt8) -> Bool { byte != 0x0D && byte != 0x0A && byte != 0 }
}
