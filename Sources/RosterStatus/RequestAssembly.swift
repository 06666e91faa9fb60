internal import RosterModel

/// Assembles one connection's requests within the limits of S2. Pure: it receives events and returns actions.
struct RequestAssembly {
  /// Limits for one request (S2).
  struct Limits: Sendable {
    var head = 16 * 1024
    var body = 64 * 1024
  }

  enum Action: Equatable {
    case wait
    /// The client waits for an interim answer before it sends the body (RFC 9110 §10.1.1).
    case goOn
    /// The request is complete.
    case answer(StatusRequest)
    /// Send this answer after earlier ones, then close. All further input is ignored.
    case refuse(Response)
  }

  /// The reason why the parser refused the input.
  enum Fault {
    case headTooLong
    /// The method is unknown, and the line is otherwise well formed.
    case method
    case version
    case syntax
  }

  private enum State {
    /// Number of bytes of the head that have arrived.
    case head(Int)
    case body(StatusRequest)
    case refused
  }

  private let limits = Limits()
  private var state = State.head(0)

  /// Call this before the parser sees these bytes.
  mutating func arrived(_ bytes: Int) {
    if case .head(let count) = state { state = .head(count + bytes) }
  }

  /// Call this when the parser has seen all bytes that have arrived.
  mutating func settled() -> Action {
    guard case .head(let count) = state, count > limits.head else { return .wait }
    return refuse(431, detail: tooLong)
  }

  /// `named` is true if the request has exactly one Host field, which HTTP/1.1 requires (RFC 9112 §3.2).
  mutating func head(_ request: StatusRequest, named: Bool) -> Action {
    guard case .head(let count) = state else { return .wait }
    if count > limits.head { return refuse(431, detail: tooLong) }
    if !named { return refuse(400, detail: "the request has not exactly one Host field (RFC 9112 section 3.2)") }
    if !request.isFramedWell {
      return refuse(
        400, detail: "the end of the body is not clear: only chunked, alone, is accepted (RFC 9112 section 6.3)")
    }
    if let length = request.header("content-length").flatMap({ Int($0) }), length > limits.body { return tooLarge() }
    state = .body(request)
    return request.isHTTP11 && request.header("expect")?.lowercased() == "100-continue" ? .goOn : .wait
  }

  mutating func body(_ bytes: some Collection<UInt8>) -> Action {
    guard case .body(var request) = state else { return .wait }
    if request.body.count + bytes.count > limits.body { return tooLarge() }
    state = .refused  // so that the bytes are appended in place
    request.body += bytes
    state = .body(request)
    return .wait
  }

  mutating func end() -> Action {
    guard case .body(let request) = state else { return .wait }
    state = .head(0)
    return .answer(request)
  }

  /// Call this if the request is not complete in time.
  mutating func expired() -> Action {
    refuse(408, detail: "the request was not complete in time")
  }

  /// Call this if the input is not an HTTP/1.1 request.
  mutating func malformed(_ fault: Fault) -> Action {
    switch fault {
    case .headTooLong: refuse(431, detail: tooLong)
    case .method:
      refuse(501, detail: "the method is not one of HTTP's (RFC 9110 section 9; their names are case-sensitive)")
    case .version: refuse(505, detail: "only HTTP/1.1 and HTTP/1.0 are spoken here")
    case .syntax: refuse(400, detail: "this is not an HTTP/1.1 request (RFC 9112)")
    }
  }

  /// The hint concerns browsers, which send the cookies of all programs that have used this address.
  private var tooLong: String {
    "the head of the request is longer than \(limits.head) bytes; if a browser sent it, delete its cookies for this "
      + "address"
  }

  private mutating func tooLarge() -> Action {
    refuse(413, detail: "the body of the request is longer than \(limits.body) bytes")
  }

  private mutating func refuse(_ status: Int, detail: String) -> Action {
    if case .refused = state { return .wait }
    state = .refused
    return .refuse(.problem(status, detail: detail))
  }
}

extension StatusRequest {
  /// True if exactly one header defines the end of the body. If two headers disagree, the parser and `PipelineGate`
  /// would pass two requests at once.
  fileprivate var isFramedWell: Bool {
    let codings = values(of: "transfer-encoding")
    if codings.isEmpty { return true }
    return codings.count == 1 && codings[0].lowercased() == "chunked" && isHTTP11 && header("content-length") == nil
  }
}

extension RequestAssembly.Action {
  static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.wait, .wait), (.goOn, .goOn): true
    case (.answer(let a), .answer(let b)): a == b
    case (.refuse(let a), .refuse(let b)): a.status == b.status && a.body == b.body
    default: false
    }
  }
}
