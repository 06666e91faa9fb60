/// One HTTP request as a value: equal requests ask for the same thing.
package struct Request: Sendable, Hashable {
  /// The methods that rosterd sends.
  package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
  }

  /// One field; equal only by exact spelling, though names mean the same in any case (RFC 9110 §5.1).
  package struct Header: Sendable, Hashable {
    /// In the spelling that is sent, or was received.
    package var name: String
    /// Without CR and LF, which would begin another field.
    package var value: String

    /// A field of that name and value.
    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// A parameter of the query, not encoded.
  package struct Parameter: Sendable, Hashable {
    /// As upstream knows it.
    package var name: String
    /// Any text.
    package var value: String

    /// Both as they are before they are percent-encoded.
    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// GET for pages, POST for tokens.
  package var method: Method
  /// Absolute. Without `secret`, so that it may be shown.
  package var url: String
  /// `url` without keys of records and other values of upstream's; nil if it has none.
  package var keylessURL: String?
  /// In the order in which they are sent.
  package var headers: [Header]
  /// Empty: none is sent.
  package var body: [UInt8]
  /// An access token that is sent in the query (`auth.send`): only the transport adds it to the address, where it takes
  /// the place of parameters of its name (T8).
  package var secret: Parameter?
  /// It is sent on no connection that has served another one.
  package var needsNewConnection = false

  /// Without headers and body unless given.
  package init(_ method: Method, _ url: String, headers: [Header] = [], body: [UInt8] = []) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }

  /// The address for messages that any local user may read: it names no credential and no record (T9, S11.3).
  package var shownURL: String {
    (keylessURL ?? url).secretsMasked(besides: nil, keeping: ["{key}", "{keys}"])
  }

  /// The address as something to look at.
  package var concern: Concern { .address(url.secretsMasked, keyless: keylessURL.map { _ in shownURL }) }

  /// The same for page `number` of `resource`.
  package func concern(asPage number: Int, of resource: String) -> Concern {
    .page(number, of: resource, url.secretsMasked, keyless: keylessURL.map { _ in shownURL })
  }
}

/// One HTTP answer, its body whole.
package struct Response: Sendable {
  /// An access token as a request carried it.
  package struct SentToken: Sendable {
    /// The name of the request's `secret`; nil: it was sent in a header.
    package var parameter: String?
    /// The token itself.
    package var text: String

    /// In a header, unless a parameter is named.
    package init(_ text: String, parameter: String? = nil) {
      self.text = text
      self.parameter = parameter
    }
  }

  /// The final one (RFC 9110 §15): 1xx are passed over.
  package var status: Int
  /// In the order in which they came; a name may come more than once.
  package var headers: [Request.Header]
  /// Decompressed.
  package var body: [UInt8]
  /// Body bytes as received, before decompression.
  package var received: Int
  /// The address that answered after redirects; nil without a redirect.
  package var redirectedTo: String?
  /// That its request carried: what the answer says of the list may repeat it. Never shown (T9).
  package var token: SentToken?

  /// `received` is the body's size where it is left out, as for an answer that came uncompressed.
  package init(status: Int, headers: [Request.Header] = [], body: [UInt8] = [], received: Int? = nil) {
    self.status = status
    self.headers = headers
    self.body = body
    self.received = received ?? body.count
  }

  /// The first header of that name, in any case.
  package subscript(name: String) -> String? {
    headers.first { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// Sends one request and brings its whole answer. Throws a `RequestFault`; the `Failure` of another request that had to
/// come first, as for a token; or CancellationError.
package typealias Send = @Sendable (Request) async throws -> Response

extension String {
  /// Whether it is what RFC 9110 §5.6.2 calls a token: the name of a header or a method.
  package var isHTTPToken: Bool { !isEmpty && utf8.allSatisfy(Self.isTokenByte) }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
