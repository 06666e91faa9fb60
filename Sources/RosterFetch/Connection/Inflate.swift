import CZlib

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
