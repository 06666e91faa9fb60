import CZlib
import NIOCore
import NIOHTTP1
import NIOPosix
import RosterCore

/// An incoming answer.
///
/// The body is collected and decompressed when it is complete. The number of received bytes is then known, and faults
/// of the body differ from faults of the connection. If the status alone decides, a fault of the body
/// does not replace the answer.
struct Answer {
  /// Largest size in bytes of a body after decompression.
  static let maxBytes = 8 * 1024 * 1024

  private(set) var head: HTTPResponseHead?
  private var body: [UInt8] = []
  private var received = 0
  private let method: Request.Method

  /// The first bytes of gzip, which no text has (RFC 1952 §2.3.1). Some servers send it without its name.
  private static let gzip: [UInt8] = [0x1F, 0x8B, 0x08]

  init(to method: Request.Method) {
    self.method = method
  }

  mutating func receive(_ received: HTTPResponseHead) {
    var head = received
    head.headers = HTTPHeaders(head.headers.map { ($0.name, $0.value.trimmed) })
    self.head = head
    if let length = head.contentLength, length <= Self.maxBytes { body.reserveCapacity(length) }
  }

  /// Throws a `BodyFault` if the received or announced length exceeds `maxBytes`.
  mutating func receive(_ part: ByteBuffer) throws {
    received += part.readableBytes
    guard max(received, head?.contentLength ?? 0) <= Self.maxBytes else {
      throw BodyFault.tooLarge(Self.maxBytes)
    }
    body.append(contentsOf: part.readableBytesView)
  }

  func whole() throws -> Response {
    guard let head else { throw Failure.closed }
    do { return response(head, body: try content(head)) } catch {
      return try settled(error, isUnsent: false)
    }
  }

  /// The answer, or the failure, of an exchange that ended with `error`.
  func settled(_ error: any Error, isUnsent: Bool) throws -> Response {
    guard let head, !(error is CancellationError) else {
      // The parser reports no error if the connection ends before the first byte.
      throw failure(error.isEndInMessage ? Failure.cutOff : error, isUnsent: isUnsent)
    }
    guard head.needsBody(method) else { return response(head, body: (try? content(head)) ?? []) }
    // Some servers send the length before compression. The stream has its own end, and a checksum.
    if error.isEndOfConnection, head.isCompressed, let content = try? inflated(body, maxBytes: Self.maxBytes) {
      return response(head, body: content)
    }
    throw failure(error.isEndOfConnection ? Failure.cutOff : error, isUnsent: isUnsent)
  }

  private func failure(_ error: any Error, isUnsent: Bool) -> any Error {
    if error is CancellationError { return error }
    var failure = Failure(transport: error)
    failure.exchange?.received = received
    failure.exchange?.isUnsent = isUnsent
    return failure
  }

  private func content(_ head: HTTPResponseHead) throws -> [UInt8] {
    guard isCompressed(head) else {
      // Some servers put a charset there, and send plain JSON.
      if let coding = head.unknownCoding, String(validating: body, as: UTF8.self) == nil {
        throw BodyFault.unknownCoding(coding.text, header: coding.header)
      }
      return body
    }
    do { return try inflated(body, maxBytes: Self.maxBytes) } catch .cutShort where !head.tellsItsEnd {
      throw Failure.cutOff
    }
  }

  private func isCompressed(_ head: HTTPResponseHead) -> Bool {
    head.isCompressed || head.unknownCoding == nil && body.starts(with: Self.gzip)
  }

  private func response(_ head: HTTPResponseHead, body: [UInt8]) -> Response {
    Response(
      status: Int(head.status.code), headers: head.headers.map { Request.Header($0.name, $0.value) }, body: body,
      received: received)
  }
}

extension Error {
  fileprivate var isEndOfConnection: Bool {
    self is IOError || [.closed, .keptConnectionClosed].contains(self as? Failure) || isEndInMessage
  }

  /// True if the connection ended in the head or in the body of an answer.
  fileprivate var isEndInMessage: Bool { self as? HTTPParserError == .invalidEOFState }
}

extension HTTPResponseHead {
  fileprivate var contentLength: Int? { headers.first(name: "Content-Length").flatMap { Int($0) } }

  /// Codings that zlib decodes. `x-gzip` is another name of gzip (RFC 9110 §8.4.1).
  fileprivate var isCompressed: Bool {
    ["gzip", "x-gzip", "deflate"].contains(headers.first(name: "Content-Encoding")?.lowercased())
  }

  /// Codings that nothing undoes, and their header: a Content-Encoding other than those of zlib, or a Transfer-Encoding
  /// besides `chunked`. nil without such a coding.
  fileprivate var unknownCoding: (text: String, header: String)? {
    for (header, plain) in [("Content-Encoding", "identity"), ("Transfer-Encoding", "chunked")] {
      let codings = headers[canonicalForm: header]
      if codings.contains(where: { $0.lowercased() != plain }) { return (codings.joined(separator: ", "), header) }
    }
    return nil
  }

  /// False if the body lasts until the connection ends (RFC 9112 §6.3).
  var tellsItsEnd: Bool {
    headers.contains(name: "Content-Length") || headers.contains(name: "Transfer-Encoding")
  }

  /// True if the answer is useless without its body: a page, which may be a part of a list, or a granted token.
  fileprivate func needsBody(_ method: Request.Method) -> Bool {
    switch method {
    case .get: status == .ok || status == .partialContent
    case .post: (200...299).contains(status.code)
    }
  }
}

/// The reason why a received body cannot be read.
enum BodyFault: Error {
  /// The body does not match its Content-Encoding, or zlib finds it damaged.
  case broken
  /// It ends before the compressed stream does.
  case cutShort
  /// The body is larger than this number of bytes.
  case tooLarge(Int)
  /// The body's Content-Encoding is neither gzip nor deflate, the only ones that can be decoded.
  case unknownCoding(String, header: String)
}

/// The contents of a gzip or zlib body, with all its members one after another (RFC 1952 §2.2). An empty body has no
/// contents.
func inflated(_ packed: [UInt8], maxBytes: Int) throws(BodyFault) -> [UInt8] {
  if packed.isEmpty { return [] }
  // zlib keeps the stream's address, so the stream must not move.
  let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  stream.initialize(to: z_stream())
  defer { stream.deallocate() }
  guard roster_inflate_init(stream) == Z_OK else { throw .broken }
  defer { inflateEnd(stream) }
  return try packed.withUnsafeBufferPointer { input -> Result<[UInt8], BodyFault> in
    // zlib only reads through next_in. Its type lacks const for the sake of old callers.
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    stream.pointee.avail_in = uInt(input.count)
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: chunkBytes) { chunk in
      Result { () throws(BodyFault) in try inflateAll(stream, through: chunk, maxBytes: maxBytes) }
    }
  }.get()
}

private func inflateAll(
  _ stream: UnsafeMutablePointer<z_stream>, through chunk: UnsafeMutableBufferPointer<UInt8>, maxBytes: Int
) throws(BodyFault) -> [UInt8] {
  var output: [UInt8] = []
  while true {
    stream.pointee.next_out = chunk.baseAddress
    stream.pointee.avail_out = uInt(chunk.count)
    let result = inflate(stream, Z_NO_FLUSH)
    output.append(contentsOf: chunk[..<(chunk.count - Int(stream.pointee.avail_out))])
    if output.count > maxBytes { throw .tooLarge(maxBytes) }
    switch result {
    case Z_OK: break
    case Z_STREAM_END:
      if stream.pointee.avail_in == 0 { return output }
      guard inflateReset(stream) == Z_OK else { throw .broken }
    case Z_BUF_ERROR: throw .cutShort
    default: throw .broken
    }
  }
}

/// Large enough for a page of the API.
private let chunkBytes = 32 * 1024
