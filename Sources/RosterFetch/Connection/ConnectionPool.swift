import NIOCore

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
