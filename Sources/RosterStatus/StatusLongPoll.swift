import NIOCore
internal import RosterCore

/// Long polls of one client. No code runs between two looks.
extension StatusConnection {
  func wait(for limit: Duration, _ look: @escaping @Sendable () async -> Polled, to request: StatusRequest) {
    guard let context else { return }
    let timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limit)) { self.endLongPoll() }
    longPoll = LongPoll(request: request, look: look, timer: timer)
    lookForNews()
  }

  /// Looks for news. Also called when readers see another snapshot.
  func lookForNews() {
    longPoll?.nothing = nil
    connections.startWork(for: self) { self.askForNews() }
  }

  /// Ends the wait, because its time is over or the server stops. The answer has no news.
  func endLongPoll() {
    longPoll?.isOver = true
    if let nothing = longPoll?.nothing { answerLongPoll(nothing) }
  }

  private func askForNews() {
    guard let context, let look = longPoll?.look else { return connections.workEnded() }
    // The count is read before the look, so that a snapshot that is published meanwhile leads to another look.
    let seen = routes.board.snapshots.value
    let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
    // The connection owns the task, and cancels it when the client disconnects.
    work = Task {
      let polled = await look()
      connection.eventLoop.execute {
        connection.value.looked(polled, seen: seen)
        connection.value.connections.workEnded()
      }
    }
  }

  private func looked(_ polled: Polled, seen: Int) {
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
