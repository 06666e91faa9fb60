internal import RosterModel
import RosterPage

/// `GET /` and what belongs to it.
extension StatusRoutes {
  /// As many as the page draws.
  private static let syncsOfPage = 100

  static func isPageAsset(_ path: String) -> Bool { PageAsset(rawValue: path) != nil }

  /// nil: that path is none of the page's.
  static func pageAsset(_ path: String) -> Response? {
    PageAsset(rawValue: path).map { Response(status: 200, headers: pageHeaders($0.type), body: $0.bytes) }
  }

  /// Where the database cannot be read, it says so and has the rest.
  func page() -> StatusAnswer {
    .later {
      let syncs = try? await history(SyncsRequest(limit: Self.syncsOfPage))
      let page = Page(board.status(), syncs: syncs, time: board.clock.now().rfc3339)
      return Response(status: 200, headers: Self.pageHeaders("text/html; charset=utf-8"), body: page.html)
    }
  }

  /// The page loads and runs only what this socket serves (W3C Content Security Policy 3), and no text becomes HTML
  /// (Trusted Types).
  private static func pageHeaders(_ type: String) -> [Request.Header] {
    let policy =
      "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    return [Request.Header("Content-Type", type), Request.Header("Content-Security-Policy", policy)]
  }
}
