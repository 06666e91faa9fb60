import NIOCore

/// The open connections of one server, on its event loop.
final class StatusConnections {
  /// Limit in bytes for unsent answers of all clients together. A few of the largest answers fit, so that clients that
  /// never read cost no more memory.
  private static let maxUnsent = 12 << 20
  /// Above this number of unsent bytes, no other answer is made. An answer may have 2 MiB, and the answers of active
  /// readers must stay below `maxUnsent`.
  private static let crowded = 4 << 20
  /// Time that other clients wait for a client that does not read.
  private static let patience = TimeAmount.seconds(1)

  private let limit: Int
  private let maxWork: Int
  private var unsent = 0
  private var working = 0
  private var work = CircularBuffer<(connection: StatusConnection, start: () -> Void)>()
  private var open: [ObjectIdentifier: StatusConnection] = [:]
  private var drained: EventLoopPromise<Void>?
  private var isRoomAwaited = false
  private var longPolls: [ObjectIdentifier: StatusConnection] = [:]

  init(_ limits: StatusLimits) {
    limit = limits.connections
    maxWork = limits.maxWork
  }

  /// Adds a connection. If there are too many, closes the one that has been idle longest, and prefers connections
  /// without an open answer.
  func add(_ connection: StatusConnection) {
    if open.count >= limit, let idle = open.values.min(by: { $0.isIdler(than: $1) }) {
      // The connection is removed at once, because another accept in the same turn must find another one.
      remove(idle)
      idle.close()
    }
    open[ObjectIdentifier(connection)] = connection
    if drained != nil { connection.finish() }
  }

  func remove(_ connection: StatusConnection) {
    open[ObjectIdentifier(connection)] = nil
    stopWaiting(connection)
    work.removeAll { $0.connection === connection }
    if open.isEmpty { drained?.succeed() }
  }

  /// Counts an answer that is being sent. If too many bytes are unsent, closes the slowest other connections.
  func sending(_ bytes: Int, to connection: StatusConnection) {
    unsent += bytes
    while unsent > Self.maxUnsent, let slowest, slowest !== connection { slowest.close() }
  }

  private var slowest: StatusConnection? {
    let slowest = open.values.min { $0.isSlower(than: $1) }
    return (slowest?.unsent ?? 0) > 0 ? slowest : nil
  }

  /// Calls `start` when an answer may be made. Call `workEnded` afterwards.
  func startWork(for connection: StatusConnection, _ start: @escaping () -> Void) {
    work.append((connection, start))
    goOnWorking()
  }

  func workEnded() {
    working -= 1
    goOnWorking()
  }

  /// Call this when this number of bytes was sent, or was given up.
  func sent(_ bytes: Int) {
    unsent -= bytes
    goOnWorking()
  }

  private func goOnWorking() {
    while working < maxWork, unsent <= Self.crowded, let next = work.popFirst() {
      working += 1
      next.start()
    }
    if unsent > Self.crowded, let loop = work.first?.connection.context?.eventLoop { makeRoom(on: loop) }
  }

  /// Closes connections that have not read their answer for a while, as long as others wait.
  private func makeRoom(on loop: any EventLoop) {
    if isRoomAwaited { return }
    isRoomAwaited = true
    loop.assumeIsolated().scheduleTask(in: Self.patience) {
      self.isRoomAwaited = false
      while self.work.first != nil, self.unsent > Self.crowded, let slowest = self.slowest,
        slowest.isStill(for: Self.patience)
      {
        slowest.close()
      }
      self.goOnWorking()
    }
  }

  /// True if the server is stopping, so that no client waits any more.
  var isDraining: Bool { drained != nil }

  /// Adds a connection that looks again at the next snapshot.
  func waitForNews(_ connection: StatusConnection) { longPolls[ObjectIdentifier(connection)] = connection }

  func stopWaiting(_ connection: StatusConnection) { longPolls[ObjectIdentifier(connection)] = nil }

  /// Call this when readers see another snapshot.
  func published() {
    let waiting = longPolls.values
    longPolls = [:]
    for connection in waiting { connection.lookForNews() }
  }

  /// Lets each connection answer its received requests, and closes the remaining connections after the time.
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
