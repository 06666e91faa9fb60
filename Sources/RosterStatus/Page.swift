import FoundationEssentials
import PageAssets
package import RosterCore
import RosterTerminal

/// The page at `/` with the status and the latest syncs, as HTML that needs no script. With a script, the page is
/// redrawn live. It is a pure value.
package struct Page: Sendable {
  private let status: DaemonStatus
  private let syncs: [SyncRecord]?
  private let time: String

  /// - Parameters:
  ///   - syncs: The latest first; nil if they cannot be read now.
  ///   - time: Time of the status, RFC 3339.
  package init(_ status: DaemonStatus, syncs: [SyncRecord]?, time: String) {
    self.status = status
    self.syncs = syncs
    self.time = time
  }

  /// `Assets/page.html` with escaped values.
  package var html: [UInt8] { Array(asset_page_html().text(value).utf8) }

  private func value(of name: Substring) -> String {
    let text = StatusText(status, now: Date(rfc3339: time), width: .max / 2)
    switch name {
    case "state": return status.state.rawValue
    case "sentence": return text.sentence.escaped
    case "time": return Self.moment(time)
    case "facts": return text.rows.map { "<dt>\($0.name)<dd>\($0.value.escaped)\n" }.joined()
    case "resources": return status.cache.resources.map(Self.row).joined()
    case "syncs": return syncs.map { $0.map(Self.line).joined() } ?? "<li>They cannot be read now."
    default: return ""
    }
  }

  private static func row(_ resource: DaemonStatus.CachedResource) -> String {
    let cells = [
      resource.name, HumanFormat.grouped(resource.records), HumanFormat.grouped(resource.pages),
      (resource.proofWords ?? "")
        + (resource.missed ?? 0 > 0 ? ", \(HumanFormat.grouped(resource.missed ?? 0)) missed" : ""),
      resource.listsText ?? "",
      resource.absent > 0 ? HumanFormat.grouped(resource.absent) : "",
    ]
    return "<tr>" + cells.map { "<td>\($0.escaped)" }.joined() + "\n"
  }

  private static func line(_ sync: SyncRecord) -> String {
    "<li><time>\(moment(sync.startedAt))</time>\(SyncText.line(sync).escaped)\n"
  }

  /// `2026-01-01 12:00:00 UTC`.
  private static func moment(_ time: String) -> String {
    (time.prefix(19).split(separator: "T").joined(separator: " ") + " UTC").escaped
  }
}

extension String {
  /// The text escaped for content and quoted attributes (WHATWG HTML §13.3), without marks that change the text
  /// direction.
  fileprivate var escaped: String {
    printable.reduce(into: "") { text, character in
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.append(character)
      }
    }
  }
}

/// The files of the page besides its HTML, in `Assets/`, with the paths at which they are served.
package enum PageAsset: String, Sendable, CaseIterable {
  case style = "/page.css"
  case script = "/page.js"
  case icon = "/page.svg"

  /// The value for Content-Type.
  package var type: String {
    switch self {
    case .style: "text/css; charset=utf-8"
    case .script: "text/javascript; charset=utf-8"
    case .icon: "image/svg+xml"
    }
  }

  /// The content of the file.
  package var bytes: [UInt8] {
    switch self {
    case .style: Array(asset_page_css())
    case .script: Array(asset_page_js())
    case .icon: Array(asset_page_svg())
    }
  }
}

extension Asset {
  /// The text with each of its `{{names}}` replaced by a value.
  func text(_ value: (Substring) -> String) -> String {
    var pieces = String(decoding: [UInt8](self), as: UTF8.self).split(separator: "{{")[...]
    let start = pieces.popFirst().map(String.init) ?? ""
    return pieces.reduce(into: start) { text, piece in
      let parts = piece.split(separator: "}}", maxSplits: 1, omittingEmptySubsequences: false)
      text += value(parts[0]) + (parts.last ?? "")
    }
  }
}

extension Array where Element == UInt8 {
  /// The embedded data, which exists as long as the program.
  init(_ asset: Asset) { self.init(UnsafeBufferPointer(start: asset.bytes, count: asset.count)) }
}

/// `GET /`, its assets, and `/openapi.json`.
extension StatusRoutes {
  /// OpenAPI 3.1.1 (spec.openapis.org/oas/v3.1.1). The schemas of answers are open, because later versions add fields
  /// to objects. The schema of the request is closed, because the daemon refuses unknown fields.
  static var openAPI: String { asset_openapi_json().text { _ in rosterdVersion } }

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
