import Glibc
import NIOCore

/// Stands between the socket and the parser, and lets one request through at a time: what a client sends ahead waits
/// here as bytes, and, when there are enough of them, in the client. Parsed ahead, a client's 64 KiB of small requests
/// would be a megabyte.
final class PipelineGate: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// So many bytes go to the parser next: a part of one request, never of two.
  struct Passing: Sendable {
    var bytes: Int
  }

  /// Of one read: a usual request in one, a client's room here.
  static let chunk = 16 * 1024

  private enum Mode {
    /// Between two requests, where blank lines mean nothing (RFC 9112 §2.2).
    case start
    /// Up to a blank line: a head, chunks, trailers.
    case lines
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

  /// The first bytes of a request, while the parser sees them.
  private(set) var opening: ByteBufferView?

  /// Nothing that arrived still waits.
  var isEmpty: Bool { held.readableBytes == 0 }

  /// The parser has seen a head whose body is so long; nil: in chunks.
  func expectBody(_ length: Int?) {
    if let length { mode = .body(left: length) }
  }

  /// A request is complete; the next one waits for `resume`.
  func pause() {
    isPaused = true
    mode = .start
  }

  func resume() {
    isPaused = false
    pass()
  }

  /// Nothing of what arrives is wanted any more.
  func discard() {
    mode = .discarding
    held.clear()
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = Self.unwrapInboundIn(data)
    if case .discarding = mode { return }
    if isEmpty { held = bytes } else { held.writeBuffer(&bytes) }
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
      let isStart = if case .start = mode { true } else { false }
      guard let piece = next() else { break }
      if isStart { opening = piece.readableBytesView }
      context.fireUserInboundEventTriggered(Passing(bytes: piece.readableBytes))
      context.fireChannelRead(Self.wrapInboundOut(piece))
      context.fireChannelReadComplete()
      opening = nil
    }
    guard isEmpty, let context else { return }
    held = ByteBuffer()
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
    if case .start = mode, let first = held.readableBytesView.firstIndex(where: { !BlankLine.isLineEnd($0) }) {
      held.moveReaderIndex(to: first)
      mode = .lines
      blank = BlankLine()
    }
    switch mode {
    case .start, .discarding:
      held.clear()
      return nil
    case .lines:
      return isEmpty ? nil : held.readSlice(length: held.withUnsafeReadableBytes { blank.length(of: $0) })
    case .body(let left):
      // The end of a body without bytes came with its head.
      let length = min(left, held.readableBytes)
      mode = .body(left: left - length)
      return length == 0 ? nil : held.readSlice(length: length)
    }
  }
}

/// Finds the end of a blank line in bytes that come in parts.
private struct BlankLine {
  private var isLineStart = false

  static func isLineEnd(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") }

  /// Up to and including the end of the first blank line; all, where there is none.
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
