import Glibc
import NIOCore

/// Holds bytes between the socket and the parser, and passes one request at a time. Requests that a client sends ahead
/// wait here as bytes and, if they are many, in the client. After parsing, 64 KiB of small requests would take a
/// megabyte.
///
/// The beginning of a request line waits for its end. The parser refuses an unknown method at its first letters, but
/// the answer must refer to the whole line.
final class PipelineGate: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Number of bytes that go to the parser next: a part of one request, never of two. 0 means that the beginning of a
  /// line waits.
  struct Passing: Sendable {
    var bytes: Int
  }

  /// Bytes of one read, enough for a usual request. A client's waiting bytes need this room.
  static let chunk = 16 * 1024
  /// Only this number of bytes of an oversized head is examined (S2), in however many reads it arrives.
  private static let longest = RequestAssembly.Limits().head + 1

  private enum Mode {
    /// Between two requests, blank lines are ignored (RFC 9112 §2.2).
    case start
    /// Reads up to a blank line: a head, of which `left` bytes may follow, or chunks and trailers.
    case lines(left: Int)
    case body(left: Int)
    case discarding
  }

  private var context: ChannelHandlerContext?
  private var held = ByteBuffer()
  private var mode = Mode.start
  private var isPaused = false
  private var readHeld = false
  private var inputClosed = false
  private var blank = BlankLine()

  /// True if the line of the parser's current request is a valid HTTP line.
  private(set) var isLineWellFormed = false

  /// True if no bytes wait, except for the beginning of a line, which the client has to complete.
  var isEmpty: Bool { held.readableBytes == 0 || isStart && !isPaused }

  private var isStart: Bool { if case .start = mode { true } else { false } }

  /// Call this when the parser has seen a head. `length` is the size of its body; nil means chunks.
  func expectBody(_ length: Int?) {
    if let length { mode = .body(left: length) }
  }

  /// Call this when a request is complete. The next one waits for `resume`.
  func pause() {
    isPaused = true
    mode = .start
  }

  func resume() {
    isPaused = false
    pass()
  }

  /// Ignores all further input.
  func discard() {
    mode = .discarding
    held.clear()
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = Self.unwrapInboundIn(data)
    if case .discarding = mode { return }
    if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
    pass()
  }

  func read(context: ChannelHandlerContext) {
    if isEmpty { context.read() } else { readHeld = true }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed, !isEmpty {
      inputClosed = true
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  private func pass() {
    while !isPaused, let context {
      let isOpening = isStart
      guard let piece = next() else { break }
      if isOpening { isLineWellFormed = RequestLine.isWellFormed(piece.readableBytesView) }
      context.fireUserInboundEventTriggered(Passing(bytes: piece.readableBytes))
      context.fireChannelRead(Self.wrapInboundOut(piece))
      context.fireChannelReadComplete()
    }
    guard isEmpty, let context else { return }
    if held.readableBytes == 0 {
      held = ByteBuffer()
    } else {
      context.fireUserInboundEventTriggered(Passing(bytes: 0))
    }
    if inputClosed {
      inputClosed = false
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
    if readHeld {
      readHeld = false
      context.read()
    }
  }

  private func next() -> ByteBuffer? {
    if isStart {
      guard skipBlankLines() else { return nil }
      let line = held.readableBytesView.prefix(Self.longest)
      let isJudged = line.count == Self.longest || line.contains(UInt8(ascii: "\n"))
      guard isJudged || !RequestLine.mayBegin(with: line) else { return nil }
      mode = .lines(left: Self.longest)
      blank = BlankLine()
    }
    switch mode {
    case .start, .discarding:
      held.clear()
      return nil
    case .lines(let left):
      let most = left > 0 ? left : held.readableBytes
      let length = held.withUnsafeReadableBytes { blank.length(of: UnsafeRawBufferPointer(rebasing: $0.prefix(most))) }
      mode = .lines(left: max(0, left - length))
      return length == 0 ? nil : held.readSlice(length: length)
    case .body(let left):
      // The end of an empty body was passed with its head.
      let length = min(left, held.readableBytes)
      mode = .body(left: left - length)
      return length == 0 ? nil : held.readSlice(length: length)
    }
  }

  /// True if a request begins with the remaining bytes.
  private func skipBlankLines() -> Bool {
    let first = held.readableBytesView.firstIndex { !BlankLine.isLineEnd($0) }
    held.moveReaderIndex(to: first ?? held.writerIndex)
    return first != nil
  }
}

/// Finds the end of a blank line in bytes that come in parts.
private struct BlankLine {
  private var isLineStart = false

  static func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") }

  /// Number of bytes up to and including the end of the first blank line, or of all bytes without one.
  mutating func length(of bytes: UnsafeRawBufferPointer) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    var index = 0
    while index < bytes.count {
      if isLineStart {
        let byte = bytes[index]
        index += 1
        if byte == UInt8(ascii: "\n") { return index }
        isLineStart = byte == UInt8(ascii: "\r")
      } else {
        guard let end = memchr(base + index, Int32(UInt8(ascii: "\n")), bytes.count - index) else { break }
        index = UnsafeRawPointer(end) - base + 1
        isLineStart = true
      }
    }
    return bytes.count
  }
}
