package import FoundationEssentials
package import RosterCore
package import RosterDecode

/// A transferred page and the results of its scans.
package struct FetchedPage: Sendable {
  /// The body, decompressed, without a byte order mark.
  package var body: [UInt8]
  /// Digest of `body` by the fetcher's `PageDigest`.
  package var digest: Int64
  /// The facts with which the list continues.
  package var facts: ListFacts
  /// The scans by the list's plans, in their order.
  package var scans: [PageScan]
  /// The validator for the next conditional request; may be empty.
  package var validator: Validator
  /// The time at which the last byte had arrived.
  package var receivedAt: Date
}

/// The answer of upstream to a request by key.
package struct FetchedRecords: Sendable {
  /// The URL of the request.
  package var url: String
  /// The body, decompressed, without a byte order mark.
  package var body: [UInt8]
  /// Digest of `body`, as for a page.
  package var digest: Int64
  /// The scan of `body`.
  package var scan: PageScan
  /// True if upstream refused a question for several keys. That says nothing about one of them: some servers refuse it
  /// if one key is unknown, others if all are, or if there are many.
  package var isRefusal = false
}

extension Validator {
  /// If-None-Match takes precedence if both exist (RFC 9110 §13.1).
  var conditions: [Request.Header] {
    if let etag { return [Request.Header("If-None-Match", etag)] }
    return lastModified.map { [Request.Header("If-Modified-Since", $0)] } ?? []
  }

  /// Last-Modified is used if it is at least a second older than Date: a page can change twice within one second (RFC
  /// 9110 §8.8.2.2).
  init(_ response: Response) {
    self.init(etag: response["ETag"].flatMap { $0.isEntityTag ? $0 : nil })
    // Parsing dates is costly, and an ETag makes them unnecessary.
    guard etag == nil, let text = response["Last-Modified"], let changed = Date(httpDate: text),
      let sent = response["Date"].flatMap(Date.init(httpDate:)), sent.timeIntervalSince(changed) >= 1
    else { return }
    lastModified = text
  }
}

extension String {
  /// True for `[W/]"…"` of RFC 9110 §8.8.3. U+FFFD marks bytes that were not UTF-8, which cannot be sent back.
  fileprivate var isEntityTag: Bool {
    var tag = self
    return tag.withUTF8(Self.isEntityTag) && (hasOnly { $0 < 0x80 } || !unicodeScalars.contains("\u{FFFD}"))
  }

  private static func isEntityTag(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    let quote = UInt8(ascii: "\"")
    let quoted = text.starts(with: "W/".utf8) ? text.dropFirst(2) : text[...]
    guard quoted.count >= 2, quoted.first == quote, quoted.last == quote else { return false }
    return quoted.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != quote && $0 != 0x7F }
  }
}
