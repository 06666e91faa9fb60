import NIOCore
import NIOHTTP1
import NIOSSL
import RosterCore

/// A connection that is kept and reused, for one exchange at a time.
final class HTTPConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let channel: any Channel
  private let pool: ConnectionPool
  private var context: ChannelHandlerContext?
  private var exchange: Exchange?
  private var hasServed = false
  private var isLast = false
  private var hasLeft = false
  private(set) var idleSince = NIODeadline.now()

  /// Adds HTTP to a channel that is still unused.
  init(over channel: any Channel, of pool: ConnectionPool) throws {
    self.channel = channel
    self.pool = pool
    try channel.pipeline.syncOperations.addHandlers([
      HTTPRequestEncoder(), ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes)), self,
    ])
    channel.closeFuture.assumeIsolated().whenComplete { _ in self.leave() }
  }

  var isOpen: Bool { channel.isActive && !hasLeft }

  func carries(_ exchange: Exchange) -> Bool { self.exchange === exchange }

  func begin(_ exchange: Exchange) {
    guard let context, channel.isActive else { return exchange.fail(Failure.closed) }
    guard exchange.deadline > .now() else {
      exchange.fail(Failure.late)
      return pool.released(self)
    }
    self.exchange = exchange
    exchange.phase = .written
    context.write(wrapOutboundOut(.head(exchange.message.head)), promise: nil)
    if !exchange.message.body.isEmpty {
      let body = context.channel.allocator.buffer(bytes: exchange.message.body)
      context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    }
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
  }

  func close() {
    leave()
    channel.close(promise: nil)
  }

  /// Leaves the pool at once, because closing TLS takes time.
  private func leave() {
    if hasLeft { return }
    hasLeft = true
    pool.left(self)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // An unexpected answer makes the rest of the connection unreliable.
    guard let exchange, !exchange.isOver else { return close() }
    do {
      switch unwrapInboundIn(data) {
      case .head(let head):
        isLast = isLast || !head.isKeepAlive || head.status == .switchingProtocols
        exchange.answer.receive(head)
      case .body(let part): try exchange.answer.receive(part)
      case .end: served(exchange)
      }
    } catch { end(with: error) }
  }

  private func served(_ exchange: Exchange) {
    self.exchange = nil
    hasServed = true
    idleSince = .now()
    exchange.finish()
    if isLast { close() } else { pool.released(self) }
  }

  /// A TLS end without close_notify is like any other end (`channelInactive` follows). The exception is a body that
  /// lasts until the connection ends: only close_notify proves that it is complete (RFC 8446 §6.1).
  /// After a reset `channelInactive` follows too, and before it the parser reports an answer that had begun.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if error is IOError, endedWhileKept(exchange, error: error) { return }
    guard let tls = error as? NIOSSLError, tls == .uncleanShutdown else { return end(with: error) }
    if let head = exchange?.answer.head, !head.tellsItsEnd { end(with: Failure.closed) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    end(with: Failure.closed)
    context.fireChannelInactive()
  }

  /// Ends the connection: no more data is expected.
  func end(with error: any Error) {
    let exchange = exchange
    self.exchange = nil
    exchange?.fail(endedWhileKept(exchange, error: error) ? Failure.keptConnectionClosed : error)
    close()
  }

  private func endedWhileKept(_ exchange: Exchange?, error: any Error) -> Bool {
    guard hasServed, exchange?.answer.head == nil else { return false }
    return error as? Failure == .closed || error is IOError
  }
}
