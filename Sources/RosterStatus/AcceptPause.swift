import NIOCore

/// Stands in the pipeline of a listener. Without a descriptor for the next client it accepts nothing for a while, and
/// says so.
///
/// NIO's AcceptBackoffHandler does not do it: the listener stays registered for reading while its error is handled, so
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

  /// Descriptors come free in their own time.
  private static let length = TimeAmount.seconds(1)
}
