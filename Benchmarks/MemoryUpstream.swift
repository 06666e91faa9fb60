import GrowthKinds
import RosterCore

/// An upstream without a network: pages of records, and records by key.
struct MemoryUpstream: Sendable {
  static let baseURL = "http://bench.test"
  private static let recordsPerPage = 20

  private let pages: [(body: [UInt8], tag: String)]
  private let byKey: [String: String]
  private let hasValidators: Bool

  /// - Parameter present: Records that are returned by key and are on no page; listed records are returned by key, too.
  init(_ records: [GrowthRecord], present: [GrowthRecord], isText: Bool, hasValidators: Bool) {
    self.hasValidators = hasValidators
    let count = max(1, (records.count + Self.recordsPerPage - 1) / Self.recordsPerPage)
    pages = (0..<count).map { index in
      let own = records.dropFirst(index * Self.recordsPerPage).prefix(Self.recordsPerPage).map(\.json)
      let info = #"{"count":\#(records.count),"pages":\#(count)}"#
      let body = Array(#"{"info":\#(info),"results":[\#(own.joined(separator: ","))]}"#.utf8)
      return (body, "\"\(body.reduce(5381) { $0 &* 33 &+ Int($1) })\"")
    }
    byKey = Dictionary(uniqueKeysWithValues: (records + present).map { (isText ? $0.code : "\($0.number)", $0.json) })
  }

  @Sendable func send(_ request: Request) async throws -> Response {
    let target = request.url.dropFirst(Self.baseURL.count)
    guard let query = target.firstIndex(of: "?") else { return answer(keys: target.dropFirst("/things/".count)) }
    let number = target[query...].split(separator: "=").last.flatMap { Int($0) } ?? 1
    guard pages.indices.contains(number - 1) else { return Response(status: 404) }
    let page = pages[number - 1]
    guard hasValidators else { return Response(status: 200, body: page.body) }
    let isKnown = request.headers.contains { $0.name == "If-None-Match" && $0.value == page.tag }
    return Response(
      status: isKnown ? 304 : 200, headers: [Request.Header("ETag", page.tag)], body: isKnown ? [] : page.body)
  }

  private func answer(keys: Substring) -> Response {
    let keys = keys.replacing("%2C", with: ",").split(separator: ",")
    let found = keys.compactMap { byKey[String($0)] }
    if keys.count > 1 { return Response(status: 200, body: Array("[\(found.joined(separator: ","))]".utf8)) }
    return found.first.map { Response(status: 200, body: Array($0.utf8)) } ?? Response(status: 404)
  }
}
