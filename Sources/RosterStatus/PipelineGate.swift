import Glibc
import NIOCore

/// Stands between the socket and the parser, and lets one request through at a time: what a client sends ahead waits
/// here as bytes, and, when there are enough of them, in the client. Parsed ahead, a client's 64 KiB of small requests
/// would be a megabyte. The beginning of a request's line waits for its end: the parser refuses a method that it does
/// not know at its first letters, and what is wrong with the line is told of the whole of it.
final class PipelineGate: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// So many bytes go to the parser next: a part of one request, never of two. 0: the beginning of a line waits.
  struct Passing: Sendable {
    var bytes: Int
  }

  /// Of one read: a usual request in one, a client's room here.
  static let chunk = 16 * 1024
  /// Of a head that is too long (S2) so many bytes, in however many reads they came, are looked at.
  private static let longest = RequestAssembly.Limits().head + 1

  private enum Mode {
    /// Between two requests, where blank lines mean nothing (RFC 9112 §2.2).
    case start
    /// Up to a blank line: a head, of which so many bytes may follow; chunks, trailers.
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

  /// Whether the line is one of HTTP of the request that the parser sees.
  private(set) var isLineWellFormed = false

  /// Nothing that arrived still waits, but for the beginning of a line, whose end is the client's to send.
  var isEmpty: Bool { held.readableBytes == 0 || isStart && !isPaused }

  private var isStart: Bool { if case .start = mode { true } else { false } }

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
      // The end of a body without bytes came with its head.
      let length = min(left, held.readableBytes)
      mode = .body(left: left - length)
      return length == 0 ? nil : held.readSlice(length: length)
    }
  }

  /// Whether a request begins with what is left.
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
