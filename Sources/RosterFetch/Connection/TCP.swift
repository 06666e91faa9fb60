import NIOCore
import NIOPosix
import RosterCore

/// Opens connections that are still unused.
enum TCP {
  /// Connects to an address at once. A name is looked up on another thread. Fails with a `Failure` if the
  /// name has no address by the deadline.
  static func connect(
    to host: String, _ port: Int, by deadline: NIODeadline, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    let bootstrap = ClientBootstrap(group: loop).connectTimeout(max(deadline - .now(), .milliseconds(1)))
    if let address = try? SocketAddress(ipAddress: host, port: port) { return bootstrap.connect(to: address) }
    let isResolved = NIOLoopBoundBox(false, eventLoop: loop)
    // The first channel is made for the first address.
    return bootstrap.channelInitializer { channel in
      isResolved.value = true
      return channel.eventLoop.makeSucceededVoidFuture()
    }.connect(host: host, port: port).flatMapErrorThrowing { error in
      if case ChannelError.connectTimeout = error, !isResolved.value { throw Failure.nameLate(host) }
      throw error
    }
  }

  /// Fails with a `Failure`.
  static func connect(
    to proxy: ProxyServer, by deadline: NIODeadline, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    connect(to: proxy.host, proxy.port, by: deadline, on: loop).flatMapErrorThrowing { error in
      throw proxy.failed(by: Failure(transport: error))
    }
  }
}
