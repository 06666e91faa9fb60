import NIOCore

/// The open connections of one server, on its event loop.
final class StatusConnections {
  /// Bytes of answers that may wait for their readers, of all clients together: a few of the largest, so that clients who ask and do not read cost no more.
  private static let mostUnsent = 4 << 20

  private let limit: Int
  private var unsent = 0
  private var open: [ObjectIdentifier: StatusConnection] = [:]
  private var drained: EventLoopPromise<Void>?

  init(limit: Int) {
    self.limit = limit
  }

  /// Where there is no room, the one that did nothing for longest goes, those that wait for no answer before the others (S2).
  func add(_ connection: StatusConnection) {
    if open.count >= limit, let idle = open.values.min(by: { $0.isIdler(than: $1) }) { idle.close() }
    open[ObjectIdentifier(connection)] = connection
    if drained != nil { connection.finish() }
  }

  func remove(_ connection: StatusConnection) {
    open[ObjectIdentifier(connection)] = nil
    if open.isEmpty { drained?.succeed() }
  }

  /// An answer is on its way. Where too many are, the one that has moved least lately is given up.
  func sending(_ bytes: Int) {
    unsent += bytes
    while unsent > Self.mostUnsent, let slowest = open.values.min(by: { $0.isSlower(than: $1) }), slowest.unsent > 0 {
      slowest.close()
    }
  }

  /// So much of it left, or is given up.
  func sent(_ bytes: Int) {
    unsent -= bytes
  }

  /// Lets each connection answer what it was asked, and closes what is left when the time is over.
  func drain(within grace: TimeAmount, on loop: any EventLoop) -> EventLoopFuture<Void> {
    let promise = loop.makePromise(of: Void.self)
    drained = promise
    for connection in open.values { connection.finish() }
    if open.isEmpty { promise.succeed() }
    let deadline = loop.assumeIsolated().scheduleTask(in: grace) {
      for connection in self.open.values { connection.close() }
    }
    return promise.futureResult.always { _ in deadline.cancel() }
  }
}
