/// One HTTP request as a value: equal requests ask for the same thing.
package struct Request: Sendable, Hashable {
  /// The methods that rosterd sends.
  package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
  }

  /// A header field. Two fields are equal only if their spelling is the same, although header names are
  /// case-insensitive (RFC 9110 §5.1).
  package struct Header: Sendable, Hashable {
    /// The name, in the spelling that is sent or was received.
    package var name: String
    /// The value, without CR and LF, which would begin another field.
    package var value: String

    /// Makes a field.
    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// A parameter of the query, not encoded.
  package struct Parameter: Sendable, Hashable {
    /// The name that upstream knows.
    package var name: String
    /// The value, which may be any text.
    package var value: String

    /// - Parameters are not percent-encoded yet.
    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// GET for pages, POST for tokens.
  package var method: Method
  /// The absolute URL without `secret`, so that it may be shown.
  package var url: String
  /// `url` without keys of records and other values of upstream's; nil if it has none.
  package var keylessURL: String?
  /// True if `url` has a delta token, so that only `shownURL` may be shown.
  package var hasDeltaToken = false
  /// The headers in the order in which they are sent.
  package var headers: [Header]
  /// The body; empty to send none.
  package var body: [UInt8]
  /// The body of a POST for the administrator, without credentials; nil for a GET.
  package var ownBody: String?
  /// Secrets to send in the query (`auth.send`). Only the transport adds them to the address, where they replace
  /// parameters of the same name.
  package var secrets: [Parameter] = []
  /// True if the request must not use a connection that has served another request.
  package var needsNewConnection = false
  /// Remaining life of the access token; nil if it is unknown. A request whose token expires while it waits for a
  /// connection is not sent.
  package var tokenLife: Duration?
  /// Longest duration from connect to last byte; nil for the transport's own limit.
  package var timeout: Duration?

  /// Headers and body are empty by default.
  package init(_ method: Method, _ url: String, headers: [Header] = [], body: [UInt8] = []) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }

  /// The address for messages: it names no credential and no record.
  package var shownURL: String {
    (keylessURL ?? url).secretsMasked(besides: [], keeping: ["{key}", "{keys}", "{key."])
  }

  /// The address for the administrator, which may name records.
  package var ownURL: String { hasDeltaToken ? shownURL : url.secretsMasked }

  /// The address as something to look at.
  package var concern: AffectedItem { .address(ownURL, body: ownBody) }

  /// The address as that of page `number` of `resource`.
  package func concern(asPage number: Int, of resource: String) -> AffectedItem {
    .page(number, of: resource, url: ownURL, body: ownBody)
  }
}

/// An HTTP answer with its complete body.
package struct Response: Sendable {
  /// The access token and the other secrets that a request carried.
  package struct SentToken: Sendable {
    /// Names of the request's `secrets`; empty if all were sent elsewhere.
    package var parameters: [String]
    /// The token and the other secrets themselves.
    package var texts: [String]

    /// `parameters` has the names of those in the query.
    package init(_ texts: [String], parameters: [String] = []) {
      self.texts = texts
      self.parameters = parameters
    }
  }

  /// The final status (RFC 9110 §15), after all 1xx.
  package var status: Int
  /// The headers in the order of arrival; a name may occur several times.
  package var headers: [Request.Header]
  /// The decompressed body.
  package var body: [UInt8]
  /// Number of body bytes as received, before decompression.
  package var received: Int
  /// The address that answered after redirects; nil without a redirect.
  package var redirectedTo: String?
  /// The token of the request, because the answer may repeat it in links. Never shown.
  package var token: SentToken?
  /// All credentials of the session, because an answer may repeat them. Never shown.
  package var secrets: [String] = []

  /// `received` is the size of the body by default, as for an uncompressed answer.
  package init(status: Int, headers: [Request.Header] = [], body: [UInt8] = [], received: Int? = nil) {
    self.status = status
    self.headers = headers
    self.body = body
    self.received = received ?? body.count
  }

  /// The value of the first header with this name, in any case.
  package subscript(name: String) -> String? {
    headers.first { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// Sends one request and returns its complete answer. Throws its `Failure`; the failure of another step that had
/// to come first, such as one for a token; or CancellationError.
package typealias Send = @Sendable (Request) async throws -> Response

extension String {
  /// True for a token in the sense of RFC 9110 §5.6.2: the name of a header or a method.
  package var isHTTPToken: Bool { !isEmpty && hasOnly(Self.isTokenByte) }

  /// True if each byte is allowed. Iterating over `utf8` takes four times as long.
  package func hasOnly(_ isAllowed: (UInt8) -> Bool) -> Bool {
    utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isAllowed) } ?? utf8.allSatisfy(isAllowed)
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "-"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"),
      UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

/// How a request carries its body.
package enum BodyFormat: String, Sendable, CaseIterable {
  case json, form
}

/// The headers that upstream sent for conditional requests (RFC 9110 §8.8).
package struct Validator: Sendable, Equatable {
  /// The entity tag with its quotes, and with `W/` if it is weak.
  package var etag: String?
  /// Last-Modified, if it is at least 1 s older than the answer's Date (RFC 9110 §8.8.2.2); else nil.
  package var lastModified: String?

  /// No validator by default.
  package init(etag: String? = nil, lastModified: String? = nil) {
    self.etag = etag
    self.lastModified = lastModified
  }

  /// True if no conditional request is possible.
  package var isEmpty: Bool { etag == nil && lastModified == nil }
}
