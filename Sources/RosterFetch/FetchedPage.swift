package import FoundationEssentials
package import RosterDecode
package import RosterModel

/// A page that was transferred, as it came, with what a scan of it found.
package struct FetchedPage: Sendable {
  /// Decompressed, without a byte order mark.
  package var body: [UInt8]
  /// Of `body`, by the fetcher's `PageDigest`.
  package var digest: Int64
  /// What the list goes on by.
  package var facts: ListFacts
  /// By each of the list's plans, in their order.
  package var scans: [PageScan]
  /// To ask with whether it has changed; may be empty.
  package var validator: Validator
  /// When its last byte was there.
  package var receivedAt: Date
}

/// What upstream answered to a question by key (P8).
package struct FetchedRecords: Sendable {
  /// As it was asked for.
  package var url: String
  /// Decompressed, without a byte order mark.
  package var body: [UInt8]
  /// As of a page.
  package var digest: Int64
  /// What was found in it.
  package var scan: PageScan
}

extension Validator {
  /// RFC 9110 §13.1: If-None-Match wins where both are there.
  var conditions: [Request.Header] {
    if let etag { return [Request.Header("If-None-Match", etag)] }
    return lastModified.map { [Request.Header("If-Modified-Since", $0)] } ?? []
  }

  /// Last-Modified counts where it is at least a second older than Date: within one second a page can change twice (RFC
  /// 9110 §8.8.2.2).
  init(_ response: Response) {
    self.init(etag: response["ETag"].flatMap { $0.isEntityTag ? $0 : nil })
    // Dates are dear to read, and where there is an ETag nobody asks with them.
    guard etag == nil, let text = response["Last-Modified"], let changed = Date(httpDate: text),
      let sent = response["Date"].flatMap(Date.init(httpDate:)), sent.timeIntervalSince(changed) >= 1
    else { return }
    lastModified = text
  }
}

extension String {
  /// `[W/]"…"` of RFC 9110 §8.8.3. U+FFFD stands where bytes were no UTF-8: those cannot be sent back.
  fileprivate var isEntityTag: Bool {
    let quote = UInt8(ascii: "\"")
    let quoted = hasPrefix("W/") ? utf8.dropFirst(2) : utf8[...]
    guard quoted.count >= 2, quoted.first == quote, quoted.last == quote else { return false }
    let tag = quoted.dropFirst().dropLast()
    guard tag.allSatisfy({ $0 > 0x20 && $0 != quote && $0 != 0x7F }) else { return false }
    return tag.allSatisfy { $0 < 0x80 } || !unicodeScalars.contains("\u{FFFD}")
  }
}
