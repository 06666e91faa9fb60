import NIOCore
internal import RosterModel

/// Long polls of one client: nothing runs between two looks.
extension StatusConnection {
  func wait(for limit: Duration, _ look: @escaping @Sendable () async -> Polled, to request: StatusRequest) {
    guard let context else { return }
    let timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { self.endLongPoll() }
    longPoll = LongPoll(request: request, look: look, timer: timer)
    lookForNews()
  }

  /// Once readers see another snapshot, too.
  func lookForNews() {
    longPoll?.nothing = nil
    connections.startWork(for: self) { self.askForNews() }
  }

  /// Its time is over, or the server stops: it is told that there is nothing.
  func endLongPoll() {
    longPoll?.isOver = true
    if let nothing = longPoll?.nothing { answerLongPoll(nothing) }
  }

  private func askForNews() {
    guard let context, let look = longPoll?.look else { return connections.workEnded() }
    // Before the look: what is published during it is looked at again.
    let seen = routes.board.snapshots.value
    let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
    // The connection owns it and cancels it when the client goes.
    work = Task {
      let polled = await look()
      connection.eventLoop.execute {
        connection.value.looked(polled, seen)
        connection.value.connections.workEnded()
      }
    }
  }

  private func looked(_ polled: Polled, _ seen: Int) {
    guard let longPoll else { return }
    if polled.hasNews || longPoll.isOver || connections.isDraining { return answerLongPoll(polled.response) }
    if routes.board.snapshots.value != seen { return lookForNews() }
    self.longPoll?.nothing = polled.response
    connections.waitForNews(self)
  }

  private func answerLongPoll(_ response: Response) {
    guard let request = longPoll?.request else { return }
    longPoll?.timer.cancel()
    longPoll = nil
    connections.stopWaiting(self)
    write(response, to: request)
  }
}
