import NIOCore
import NIOHTTP1
import NIOSSL
import RosterCore

/// The connections to one server, or to one proxy. Only the transport's loop uses it.
final class ConnectionPool {
  struct Limits: Sendable {
    var most: Int
    var maxIdle: TimeAmount
  }

  /// Most servers close idle connections after 5 to 75 s.
  static let maxIdle = TimeAmount.seconds(60)

  private let way: Route.Way
  private let connector: Connector
  private let limits: Limits
  private let loop: any EventLoop
  /// Idle connections; the last element was used last.
  private var idle: [HTTPConnection] = []
  private var open: [HTTPConnection] = []
  private var beingMade = 0
  private var waiting: [Exchange] = []
  private var isSwept = false

  init(_ way: Route.Way, by connector: Connector, limits: Limits, on loop: any EventLoop) {
    self.way = way
    self.connector = connector
    self.limits = limits
    self.loop = loop
  }

  func begin(_ exchange: Exchange) {
    if !exchange.needsNewConnection, let connection = takeIdle() { return connection.begin(exchange) }
    if hasRoom || exchange.needsNewConnection { connect(for: exchange) } else { waiting.append(exchange) }
  }

  private var hasRoom: Bool { open.count + beingMade < limits.most }

  /// Ends an exchange early. Its connection is closed too, because the rest of the answer would still arrive on it.
  func breakOff(_ exchange: Exchange, error: any Error) {
    if let connection = open.first(where: { $0.carries(exchange) }) {
      connection.end(with: error)
    } else {
      exchange.fail(error)
    }
  }

  private func takeIdle() -> HTTPConnection? {
    while let connection = idle.popLast() { if connection.isOpen { return connection } }
    return nil
  }

  private func connect(for exchange: Exchange) {
    exchange.phase = .connecting
    beingMade += 1
    connector.connect(way, by: exchange.deadline).assumeIsolated().whenComplete { [self] result in
      beingMade -= 1
      do {
        let connection = try HTTPConnection(over: try result.get(), of: self)
        open.append(connection)
        exchange.expectLiveToken()
        if exchange.isOver { released(connection) } else { connection.begin(exchange) }
      } catch {
        exchange.fail(error)
        serveNext()
      }
    }
  }

  /// Call this when a connection has served its exchange and can serve another one.
  func released(_ connection: HTTPConnection) {
    if let next = nextWaiting() { return connection.begin(next) }
    idle.append(connection)
    sweepLater()
  }

  func left(_ connection: HTTPConnection) {
    open.removeAll { $0 === connection }
    idle.removeAll { $0 === connection }
    serveNext()
  }

  private func serveNext() {
    if hasRoom, let next = nextWaiting() { connect(for: next) }
  }

  private func nextWaiting() -> Exchange? {
    while !waiting.isEmpty {
      let next = waiting.removeFirst()
      next.expectLiveToken()
      if !next.isOver { return next }
    }
    return nil
  }

  private func sweepLater() {
    guard !isSwept, let oldest = idle.first else { return }
    isSwept = true
    loop.assumeIsolated().scheduleTask(deadline: oldest.idleSince + limits.maxIdle) { [weak self] in
      self?.sweep()
    }
  }

  private func sweep() {
    isSwept = false
    let latest = NIODeadline.now() - limits.maxIdle
    for connection in idle where connection.idleSince <= latest { connection.close() }
    sweepLater()
  }
}

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
