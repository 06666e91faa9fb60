import NIOCore

/// The open connections of one server, on its event loop.
final class StatusConnections {
  /// Bytes of answers that may wait for their readers, of all clients together: a few of the largest, so that clients
  /// who ask and do not read cost no more.
  private static let mostUnsent = 4 << 20

  /// NIO looks at sockets only when no task is left: clients who send requests ahead would keep all others waiting for
  /// as long as theirs last. So they are answered for this long at a time, and the sockets are looked at in between.
  private static let slice = TimeAmount.milliseconds(1)
  private static let pause = TimeAmount.microseconds(250)

  /// Answers that are being made at a time from what the database gives: a thousand syncs are half a megabyte before
  /// they are text.
  private static let mostWork = 4

  private let limit: Int
  private var unsent = 0
  private var working = 0
  private var work = Fifo<(connection: StatusConnection, start: () -> Void)>()
  private var sliceEnd = NIODeadline.uptimeNanoseconds(0)
  private var waiting = Fifo<StatusConnection>()
  private var isTurnDue = false
  private var open: [ObjectIdentifier: StatusConnection] = [:]
  private var drained: EventLoopPromise<Void>?

  init(limit: Int) {
    self.limit = limit
  }

  /// Where there is no room, the one that did nothing for longest goes, those that wait for no answer before the others
  /// (S2).
  func add(_ connection: StatusConnection) {
    if open.count >= limit, let idle = open.values.min(by: { $0.isIdler(than: $1) }) {
      // At once, not when its handlers go: the next accept of this turn is to find another one.
      remove(idle)
      idle.close()
    }
    open[ObjectIdentifier(connection)] = connection
    if drained != nil { connection.finish() }
  }

  func remove(_ connection: StatusConnection) {
    open[ObjectIdentifier(connection)] = nil
    work.removeAll { $0.connection === connection }
    if open.isEmpty { drained?.succeed() }
  }

  /// An answer is on its way. Where too many are, the one that has moved least lately is given up.
  func sending(_ bytes: Int) {
    unsent += bytes
    while unsent > Self.mostUnsent, let slowest = open.values.min(by: { $0.isSlower(than: $1) }), slowest.unsent > 0 {
      slowest.close()
    }
  }

  /// Calls `start` when an answer may be made; `workEnded` must follow.
  func startWork(for connection: StatusConnection, _ start: @escaping () -> Void) {
    if working == Self.mostWork { return work.append((connection, start)) }
    working += 1
    start()
  }

  func workEnded() {
    if let next = work.popFirst() { next.start() } else { working -= 1 }
  }

  /// So much of it left, or is given up.
  func sent(_ bytes: Int) {
    unsent -= bytes
  }

  /// `connection` has another request to answer; it is told when it may.
  func goOn(_ connection: StatusConnection, on loop: any EventLoop) {
    if NIODeadline.now() < sliceEnd { return connection.resume() }
    waiting.append(connection)
    if !isTurnDue { scheduleTurn(on: loop) }
  }

  private func scheduleTurn(on loop: any EventLoop) {
    isTurnDue = true
    loop.assumeIsolated().scheduleTask(in: Self.pause) {
      self.sliceEnd = .now() + Self.slice
      while NIODeadline.now() < self.sliceEnd, let next = self.waiting.popFirst() { next.resume() }
      self.isTurnDue = false
      if !self.waiting.isEmpty { self.scheduleTurn(on: loop) }
    }
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
