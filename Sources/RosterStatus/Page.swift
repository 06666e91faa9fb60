import FoundationEssentials
import PageAssets
package import RosterModel
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

  /// `Assets/page.html` with its `{{names}}` replaced by escaped values.
  package var html: [UInt8] {
    var pieces = String(decoding: [UInt8](asset_page_html()), as: UTF8.self).split(separator: "{{")[...]
    var html = pieces.popFirst().map(String.init) ?? ""
    for piece in pieces {
      let parts = piece.split(separator: "}}", maxSplits: 1, omittingEmptySubsequences: false)
      html += value(of: parts[0]) + (parts.last ?? "")
    }
    return Array(html.utf8)
  }

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
