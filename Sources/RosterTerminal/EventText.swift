internal import FoundationEssentials

/// An event of the stream in words.
package enum EventText {
  private struct Fields: Decodable {
    var at: String
    var sync: Int64?
    var page: Int?
    var pagesDone: Int?
    var pagesTotal: Int?
    var attempt: Int?
    var reason: String?
    var delaySeconds: Double?
    var error: String?

    enum CodingKeys: String, CodingKey {
      case at, sync, page, attempt, reason, error
      case pagesDone = "pages_done"
      case pagesTotal = "pages_total"
      case delaySeconds = "delay_seconds"
    }
  }

  /// `2026-01-01T12:00:00.000Z  page.fetched      sync 18, page 17 (17/42)`. What is no JSON of an event stands as it is.
  package static func line(name: String, data: String) -> String {
    guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(data.utf8)) else { return "\(name)  \(data)" }
    var parts: [String] = []
    if let sync = fields.sync { parts.append("sync \(sync)") }
    if let page = fields.page { parts.append("page \(page)" + progress(fields)) }
    if let attempt = fields.attempt { parts.append("attempt \(attempt)") }
    if let reason = fields.reason { parts.append(reason) }
    if let delay = fields.delaySeconds { parts.append("again in \(Words.span(delay))") }
    if let error = fields.error { parts.append(error) }
    let gap = String(repeating: " ", count: max(0, names - name.count))
    return "\(fields.at)  \(name)" + (parts.isEmpty ? "" : gap + "  " + parts.joined(separator: ", "))
  }

  /// As wide as `token.refreshing`.
  private static let names = 16

  private static func progress(_ fields: Fields) -> String {
    guard let done = fields.pagesDone, let total = fields.pagesTotal else { return "" }
    return " (\(done)/\(total))"
  }
}
