import NIOCore
import RosterCore
import Synchronization

/// The exchanges and connections of a transport. Only the transport's loop uses it.
final class Connections {
  /// Allows the caller of an exchange to cancel it.
  final class Ticket: Sendable {
    private let flag = Atomic(false)

    var isGivenUp: Bool { flag.load(ordering: .acquiring) }

    func giveUp() { flag.store(true, ordering: .releasing) }
  }

  private let connector: Connector
  private let limits: ConnectionPool.Limits
  private let loop: any EventLoop
  private var pools: [Route.Way: ConnectionPool] = [:]
  private var running: [ObjectIdentifier: Exchange] = [:]
  /// One alarm for all exchanges, at the first deadline: most exchanges end long before.
  private var alarm: (deadline: NIODeadline, task: Scheduled<Void>)?

  init(_ connector: Connector, limits: ConnectionPool.Limits, on loop: any EventLoop) {
    self.connector = connector
    self.limits = limits
    self.loop = loop
  }

  func begin(
    _ message: Message, ticket: Ticket, by deadline: NIODeadline, tokenEnd: NIODeadline?, onNewConnection: Bool,
    continuation: UnsafeContinuation<Response, any Error>
  ) {
    if ticket.isGivenUp { return continuation.resume(throwing: CancellationError()) }
    let id = ObjectIdentifier(ticket)
    let exchange = Exchange(
      message, by: deadline, tokenEnd: tokenEnd, needsNewConnection: onNewConnection, continuation: continuation
    ) { [weak self] in
      self?.running[id] = nil
    }
    running[id] = exchange
    setAlarm(by: deadline)
    pool(message.way).begin(exchange)
  }

  private func pool(_ way: Route.Way) -> ConnectionPool {
    if let pool = pools[way] { return pool }
    let pool = ConnectionPool(way, by: connector, limits: limits, on: loop)
    pools[way] = pool
    return pool
  }

  func giveUp(_ ticket: Ticket) {
    if let exchange = running[ObjectIdentifier(ticket)] { breakOff(exchange, error: CancellationError()) }
  }

  func giveUpAll() {
    for exchange in Array(running.values) { breakOff(exchange, error: CancellationError()) }
    alarm?.task.cancel()
  }

  private func breakOff(_ exchange: Exchange, error: any Error) {
    pool(exchange.message.way).breakOff(exchange, error: error)
  }

  private func setAlarm(by deadline: NIODeadline) {
    if let alarm, alarm.deadline <= deadline { return }
    alarm?.task.cancel()
    let task = loop.assumeIsolated().scheduleTask(deadline: deadline) { self.expire() }
    alarm = (deadline, task)
  }

  /// Ends the exchanges whose deadline has passed. A connection attempt has the same deadline, and its own error is
  /// more precise.
  private func expire() {
    let now = NIODeadline.now()
    alarm = nil
    let due = running.values.filter { $0.deadline <= now && $0.phase != .connecting }
    for exchange in due { breakOff(exchange, error: Failure.late) }
    if let next = running.values.lazy.map(\.deadline).filter({ $0 > now }).min() { setAlarm(by: next) }
  }
}
