/// One HTTP request as a value: equal requests ask for the same thing.
package struct Request: Sendable, Hashable {
  package enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
  }

  package struct Header: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package var method: Method
  /// Absolute.
  package var url: String
  package var headers: [Header]
  package var body: [UInt8]

  package init(_ method: Method, _ url: String, headers: [Header] = [], body: [UInt8] = []) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

/// One HTTP answer, its body whole.
package struct Response: Sendable {
  package var status: Int
  package var headers: [Request.Header]
  /// Decompressed.
  package var body: [UInt8]
  /// Body bytes as received, before decompression.
  package var received: Int

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

/// Sends one request and brings its whole answer. Throws a `Failure` whose `reason` says what happened, or CancellationError.
package typealias Send = @Sendable (Request) async throws -> Response
