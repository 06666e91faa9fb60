import Glibc
package import Logging
import NIOCore
import NIOPosix
package import RosterCore
import Synchronization

/// Answers on the status socket, on a separate thread: neither a fast sync nor the database can delay it.
package final class StatusServer: Sendable {
  /// The address of the socket.
  package enum Place: Sendable, Equatable {
    /// A path, and the mode that the socket gets.
    case path(String, mode: UInt16)
    /// A listening socket from systemd (sd_listen_fds(3)). The server closes it, and does not remove its name.
    case passed(Int32)
  }

  private struct Running {
    var group: MultiThreadedEventLoopGroup
    var listener: any Channel
    var connections: NIOLoopBoundBox<StatusConnections>
    var file: SocketFile?
    var identity: Inode?
  }

  /// How long requests in progress may take when the server stops: the whole daemon has 5 s.
  private static let grace = TimeAmount.milliseconds(400)

  private let place: Place
  private let routes: StatusRoutes
  private let limits: StatusLimits
  private let running = Mutex<Running?>(nil)
  private let noRoom: RareWarning
  /// The server whose thread also serves this socket.
  private let host: StatusServer?

  /// Starts to listen when `start` is called.
  /// - Parameter host: the server whose thread serves this socket too, and which stops later; nil for a separate
  ///   thread.
  package init(
    at place: Place, routes: StatusRoutes, limits: StatusLimits = StatusLimits(),
    logger: Logger = Logger(label: "status") { _ in SwiftLogNoOpLogHandler() }, on host: StatusServer? = nil
  ) {
    self.host = host
    self.place = place
    self.routes = routes
    self.limits = limits
    noRoom = RareWarning(logger)
  }

  /// Returns when the socket answers under its name. Throws `Failure` 73 if it cannot be opened, or if the name is
  /// taken.
  package func start() async throws(Failure) {
    let (descriptor, file) = try open()
    let group = host?.running.withLock { $0?.group } ?? MultiThreadedEventLoopGroup(numberOfThreads: 1)
    do {
      let connections = NIOLoopBoundBox.makeBoxSendingValue(
        StatusConnections(limits), eventLoop: group.next())
      let listener = try await listen(descriptor, group: group, connections: connections).get()
      do {
        try file?.publish()
      } catch {
        try? await listener.close()
        throw error
      }
      if host == nil {
        routes.board.snapshots.wake {
          connections.eventLoop.execute { connections.value.published() }
        }
      }
      running.withLock {
        $0 = Running(
          group: group, listener: listener, connections: connections, file: file, identity: file?.identity)
      }
    } catch {
      file?.abandon()
      await end(group)
      throw (error as? Failure) ?? SocketFile.failure(pathName, cause: "\(error)", code: nil)
    }
  }

  /// Removes the socket's name, lets requests in progress end for up to 400 ms, and closes everything. Does nothing if
  /// the server is not running.
  package func stop() async {
    let stopped = running.withLock { running in
      defer { running = nil }
      return running
    }
    guard let stopped else { return }
    if host == nil { routes.board.snapshots.wake(nil) }
    stopped.file?.remove(stopped.identity)
    try? await stopped.listener.close()
    let connections = stopped.connections
    try? await stopped.group.next().flatSubmit {
      connections.value.drain(within: Self.grace, on: connections.eventLoop)
    }
    .get()
    await end(stopped.group)
  }

  private func end(_ group: MultiThreadedEventLoopGroup) async {
    if host == nil { try? await group.shutdownGracefully() }
  }

  /// Sets the mode of the socket that this server has made; a passed socket belongs to its unit. A file of another
  /// program that has the name now is not changed. Returns false, with errno, if the mode cannot be set.
  package func setMode(_ mode: UInt16) -> Bool {
    guard case .path(let path, _) = place else { return true }
    return SocketFile.setMode(mode, path: path, identity: running.withLock { $0?.identity })
  }

  private var pathName: String {
    switch place {
    case .path(let path, _): path
    case .passed(let descriptor): "descriptor \(descriptor)"
    }
  }

  private func open() throws(Failure) -> (Int32, SocketFile?) {
    switch place {
    case .path(let path, let mode):
      let file = try SocketFile(path: path, mode: mode)
      return (file.descriptor, file)
    case .passed(let descriptor):
      var (listens, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
      guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens == 1 else {
        throw SocketFile.failure(
          pathName, cause: "the passed descriptor is not a listening socket", code: nil,
          hint: "the socket unit needs ListenStream= and Accept=no")
      }
      return (descriptor, nil)
    }
  }

  private func listen(
    _ descriptor: Int32, group: MultiThreadedEventLoopGroup, connections: NIOLoopBoundBox<StatusConnections>
  ) -> EventLoopFuture<any Channel> {
    let (routes, limits, noRoom) = (routes, limits, noRoom)
    return ServerBootstrap(group: group)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptPause(noRoom))
        }
      }
      // A client that has shut down its sending side still gets its answer.
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: StatusConnection.readSize))
      .childChannelInitializer { channel in
        Self.peer(of: channel).flatMap { peer in
          channel.eventLoop.makeCompletedFuture {
            try StatusConnection(routes: routes, limits: limits, peer: peer, connections: connections.value)
              .join(channel)
          }
        }
      }
      .withBoundSocket(descriptor).map { listener in
        // NIO has called listen(2) again, with 128.
        _ = Glibc.listen(descriptor, SocketFile.waiting)
        return listener
      }
  }

  /// The user id of the client, from the kernel.
  private static func peer(of channel: any Channel) -> EventLoopFuture<UInt32?> {
    guard let socket = channel as? any SocketOptionProvider else {
      return channel.eventLoop.makeSucceededFuture(nil)
    }
    let credentials: EventLoopFuture<PeerCredentials> = socket.unsafeGetSocketOption(
      level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
    return credentials.map { $0.user }.recover { _ in nil }
  }

  /// `struct ucred` of unix(7), which Glibc's module leaves out.
  private struct PeerCredentials {
    var process: Int32
    var user: UInt32
    var group: UInt32
  }
}
