internal import RosterModel

/// `GET /` and its assets.
extension StatusRoutes {
  /// Number of syncs that the page draws.
  private static let syncsOfPage = 100

  /// nil if the path is not an asset of the page.
  static func pageAsset(_ path: String) -> Response? {
    PageAsset(rawValue: path).map { Response(status: 200, headers: pageHeaders($0.type), body: $0.bytes) }
  }

  /// The page. If the database cannot be read, the page reports it and has all other facts.
  func page() -> StatusAnswer {
    .later {
      let syncs = try? await history(SyncsRequest(limit: Self.syncsOfPage))
      let page = Page(board.status(), syncs: syncs, time: board.clock.now().rfc3339)
      return Response(status: 200, headers: Self.pageHeaders("text/html; charset=utf-8"), body: page.html)
    }
  }

  /// The page loads and runs only content of this socket (W3C Content Security Policy 3), and text never becomes HTML
  /// (Trusted Types).
  private static func pageHeaders(_ type: String) -> [Request.Header] {
    let policy =
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    return [Request.Header("Content-Type", type), Request.Header("Content-Security-Policy", policy)]
  }
}
