import NIOCore
import NIOPosix
import RosterModel

/// Opens connections over which nothing was said yet.
enum TCP {
  /// To an address at once; a name is looked up on another thread.
  static func connect(
    to host: String, _ port: Int, by deadline: NIODeadline, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    let bootstrap = ClientBootstrap(group: loop).connectTimeout(max(deadline - .now(), .milliseconds(1)))
    if let address = try? SocketAddress(ipAddress: host, port: port) { return bootstrap.connect(to: address) }
    return bootstrap.connect(host: host, port: port)
  }

  /// Fails with a `ProxyFault`.
  static func connect(
    to proxy: ProxyServer, by deadline: NIODeadline, on loop: any EventLoop
  ) -> EventLoopFuture<any Channel> {
    connect(to: proxy.host, proxy.port, by: deadline, on: loop).flatMapErrorThrowing { error in
      throw ProxyFault(proxy: proxy, kind: .unreachable(TransportCause(error)))
    }
  }
}
