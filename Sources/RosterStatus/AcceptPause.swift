import NIOCore

/// A handler in the pipeline of a listener. If no descriptor is free for the next client, it accepts no clients for a
/// while, and logs a warning.
///
/// NIO's AcceptBackoffHandler does not help: the listener stays registered for reading while its error is handled, so
/// that the loop is woken again at once.
final class AcceptPause: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let warning: RareWarning

  init(_ warning: RareWarning) {
    self.warning = warning
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard error is IOError else { return context.fireErrorCaught(error) }
    warning.tell("a client of the status socket waits: \(error)")
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: false)
    channel.eventLoop.assumeIsolated().scheduleTask(in: Self.length) {
      try? channel.syncOptions?.setOption(.autoRead, value: true)
    }
  }

  /// A pause after which a descriptor may be free.
  private static let length = TimeAmount.seconds(1)
}
