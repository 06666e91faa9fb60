import NIOCore

/// The open connections of one server, on its event loop.
final class StatusConnections {
  /// Bytes of answers that may wait for their readers, of all clients together: a few of the largest, so that clients
  /// who ask and do not read cost no more.
  private static let mostUnsent = 12 << 20
  /// Above this no other answer is made: each may be 2 MiB, those of readers who read are to stay below the most.
  private static let crowded = 4 << 20
  /// How long others wait for one who does not read.
  private static let patience = TimeAmount.seconds(1)

  /// NIO looks at sockets only when no task is left: clients who send requests ahead would keep all others waiting for
  /// as long as theirs last. So they are answered for this long at a time, and the sockets are looked at in between.
  private static let slice = TimeAmount.milliseconds(1)
  private static let pause = TimeAmount.microseconds(250)

  /// A disk that is slow for once delays no client for longer.
  private static let maxRest = TimeAmount.milliseconds(250)

  private let limit: Int
  private let maxWork: Int
  private let rest: Int64
  /// When the last answer was begun.
  private var workBegin = NIODeadline.uptimeNanoseconds(0)
  /// No answer is begun earlier.
  private var restEnd = NIODeadline.uptimeNanoseconds(0)
  private var isRestAwaited = false
  private var unsent = 0
  private var working = 0
  private var work = Fifo<(connection: StatusConnection, start: () -> Void)>()
  /// Answers to monitors, which are small, come before all others: a scrape has a time limit.
  private var smallWork = Fifo<(connection: StatusConnection, start: () -> Void)>()
  private var sliceEnd = NIODeadline.uptimeNanoseconds(0)
  private var waiting = Fifo<StatusConnection>()
  private var isTurnDue = false
  private var open: [ObjectIdentifier: StatusConnection] = [:]
  private var drained: EventLoopPromise<Void>?
  private var isRoomAwaited = false
  /// Those who wait for news.
  private var longPolls: [ObjectIdentifier: StatusConnection] = [:]

  init(_ limits: StatusLimits) {
    limit = limits.connections
    maxWork = limits.maxWork
    rest = Int64(limits.rest)
  }

  /// True if also an answer that needs no database waits for its turn.
  var isPaced: Bool { rest > 0 }

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
    stopWaiting(connection)
    work.removeAll { $0.connection === connection }
    smallWork.removeAll { $0.connection === connection }
    if open.isEmpty { drained?.succeed() }
  }

  /// An answer is on its way. Where too many are, those that have moved least lately are given up, never this one.
  func sending(_ bytes: Int, to connection: StatusConnection) {
    unsent += bytes
    while unsent > Self.mostUnsent, let slowest, slowest !== connection { slowest.close() }
  }

  private var slowest: StatusConnection? {
    let slowest = open.values.min { $0.isSlower(than: $1) }
    return (slowest?.unsent ?? 0) > 0 ? slowest : nil
  }

  /// Calls `start` when an answer may be made; `workEnded` must follow.
  func startWork(for connection: StatusConnection, isSmall: Bool = false, _ start: @escaping () -> Void) {
    if isSmall { smallWork.append((connection, start)) } else { work.append((connection, start)) }
    goOnWorking()
  }

  func workEnded() {
    working -= 1
    if isPaced { restEnd = .now() + min((.now() - workBegin) * rest, Self.maxRest) }
    goOnWorking()
  }

  /// So much of it left, or is given up.
  func sent(_ bytes: Int) {
    unsent -= bytes
    goOnWorking()
  }

  private func goOnWorking() {
    while working < maxWork, unsent <= Self.crowded, !isResting, let next = smallWork.popFirst() ?? work.popFirst() {
      working += 1
      workBegin = .now()
      next.start()
    }
    if unsent > Self.crowded, let loop = nextWork?.connection.context?.eventLoop { makeRoom(on: loop) }
  }

  private var nextWork: (connection: StatusConnection, start: () -> Void)? { smallWork.first ?? work.first }

  /// A client that waits is called again when the rest is over.
  private var isResting: Bool {
    guard isPaced, restEnd > .now(), let loop = nextWork?.connection.context?.eventLoop else { return false }
    if isRestAwaited { return true }
    isRestAwaited = true
    loop.assumeIsolated().scheduleTask(deadline: restEnd) {
      self.isRestAwaited = false
      self.goOnWorking()
    }
    return true
  }

  /// As long as others wait, whoever has not read its answer for a while is given up.
  private func makeRoom(on loop: any EventLoop) {
    if isRoomAwaited { return }
    isRoomAwaited = true
    loop.assumeIsolated().scheduleTask(in: Self.patience) {
      self.isRoomAwaited = false
      while self.nextWork != nil, self.unsent > Self.crowded, let slowest = self.slowest,
        slowest.isStill(for: Self.patience)
      {
        slowest.close()
      }
      self.goOnWorking()
    }
  }

  /// Nobody waits any more.
  var isDraining: Bool { drained != nil }

  /// It is told of the next snapshot.
  func waitForNews(_ connection: StatusConnection) { longPolls[ObjectIdentifier(connection)] = connection }

  func stopWaiting(_ connection: StatusConnection) { longPolls[ObjectIdentifier(connection)] = nil }

  /// Readers see another snapshot.
  func published() {
    let waiting = longPolls.values
    longPolls = [:]
    for connection in waiting { connection.lookForNews() }
  }

  /// `connection` has another request to answer; it is told when it may.
  func goOn(_ connection: StatusConnection, on loop: any EventLoop) {
    if loop.now < sliceEnd { return connection.resume() }
    waiting.append(connection)
    if !isTurnDue { scheduleTurn(on: loop) }
  }

  private func scheduleTurn(on loop: any EventLoop) {
    isTurnDue = true
    loop.assumeIsolated().scheduleTask(in: Self.pause) {
      self.sliceEnd = loop.now + Self.slice
      while loop.now < self.sliceEnd, let next = self.waiting.popFirst() { next.resume() }
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
