import PageAssets

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

extension Array where Element == UInt8 {
  /// The embedded data, which exists as long as the program.
  init(_ asset: Asset) { self.init(UnsafeBufferPointer(start: asset.bytes, count: asset.count)) }
}
