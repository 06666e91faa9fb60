import NIOCore
import NIOHTTP1
import NIOPosix
internal import RosterCore
import Synchronization

/// The sockets of the simulator: one event loop, HTTP/1.1, keep-alive.
struct SimulatorServer: Sendable {
  private let group: MultiThreadedEventLoopGroup
  private let open: OpenChannels
  let port: Int

  /// - Parameter port: The port on 127.0.0.1; 0 for a free one.
  static func start(_ backend: Backend, port: Int) async throws -> SimulatorServer {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let open = OpenChannels()
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        backend.with { upstream, _ in
          upstream.counts.connections += 1
          upstream.counts.openConnections += 1
        }
        channel.closeFuture.whenComplete { _ in backend.with { upstream, _ in upstream.counts.openConnections -= 1 } }
        open.add(channel)
        return channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Connection(backend))
        }
      }
    do {
      let channel = try await bootstrap.bind(host: "127.0.0.1", port: port).get()
      return SimulatorServer(group: group, open: open, port: channel.localAddress?.port ?? 0)
    } catch {
      try? await group.shutdownGracefully()
      guard let error = error as? IOError else { throw error }
      throw Failure(
        .cannotWrite, step: "serve on port", subject: "\(port)", cause: SystemError(code: error.errnoCode).text,
        hint: "name another port")
    }
  }

  func disconnect() async {
    // The channel may already be closed, which is the intended result.
    for channel in open.all { try? await channel.close() }
  }

  func stop() async {
    // This fails only if the group was shut down before, which is the intended result.
    try? await group.shutdownGracefully()
  }
}

private final class OpenChannels: Sendable {
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

  var all: [any Channel] { channels.withLock { Array($0.values) } }

  func add(_ channel: any Channel) {
    let id = ObjectIdentifier(channel)
    channels.withLock { $0[id] = channel }
    channel.closeFuture.whenComplete { _ in self.channels.withLock { $0[id] = nil } }
  }
}

/// One connection: collects a request, asks the backend, and sends the answer.
private final class Connection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let backend: Backend
  private var head: HTTPRequestHead?
  private var body: [UInt8] = []
  private var active: Int?

  init(_ backend: Backend) {
    self.backend = backend
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      body = []
    case .body(let bytes): body.append(contentsOf: bytes.readableBytesView)
    case .end:
      guard let head else { return }
      let headers = head.headers.map { Request.Header($0.name, $0.value) }
      // A proxy gets the whole address.
      let target = head.uri.hasPrefix("http://") ? head.uri.dropFirst(7).drop { $0 != "/" } : head.uri[...]
      let request = Request(head.method == .POST ? .post : .get, String(target), headers: headers, body: body)
      let channel = context.channel
      let backend = backend
      active = backend.receive(request) { id, plan in
        Delivery(id: id, plan: plan, channel: channel, backend: backend).start()
      }
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if let active { backend.ended(active, abandoned: true) }
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}

/// Sends one answer, up to the interruption of its fault.
private struct Delivery: Sendable {
  let id: Int
  let plan: SimulatedUpstream.Plan
  let channel: any Channel
  let backend: Backend

  func start() {
    channel.eventLoop.scheduleTask(in: .nanoseconds(Int64(plan.latency.seconds * 1e9))) { send() }
  }

  private func send() {
    if plan.drop { return reset() }
    let cut = plan.cut?.after
    let half = plan.response.body.count / 2
    switch cut {
    case nil:
      sendHead()
      sendBody(plan.response.body[...])
      sendEnd()
      return
    case .nothing: break
    case .head: sendHead()
    case .half:
      sendHead()
      sendBody(plan.response.body[..<half])
    }
    channel.flush()
    switch plan.cut?.ending {
    case .reset: reset()
    case .stall:
      backend.stall(id, seen: plan.seen) {
        channel.eventLoop.execute {
          if cut == .nothing { sendHead() }
          sendBody(plan.response.body[(cut == .half ? half : 0)...])
          sendEnd()
        }
      }
    case .close, nil: finish { channel.close() }
    }
  }

  private func sendHead() {
    var headers = HTTPHeaders(plan.response.headers.map { ($0.name, $0.value) })
    if plan.response.status != Self.notModified {
      headers.add(name: "Content-Length", value: "\(plan.response.body.count)")
    }
    let status = HTTPResponseStatus(statusCode: plan.response.status)
    write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
  }

  private func sendBody(_ bytes: ArraySlice<UInt8>) {
    if !bytes.isEmpty { write(.body(.byteBuffer(ByteBuffer(bytes: bytes)))) }
  }

  private func sendEnd() {
    // Counted before it is sent, so that a test that has read the answer sees the count.
    backend.ended(id, abandoned: false)
    write(.end(nil))
    channel.flush()
  }

  private func write(_ part: HTTPServerResponsePart) {
    channel.write(part, promise: nil)
  }

  private func finish(_ close: () -> EventLoopFuture<Void>) {
    backend.ended(id, abandoned: false)
    _ = close()
  }

  /// SO_LINGER with no time to linger: close sends RST, not FIN (socket(7)).
  private func reset() {
    finish {
      guard let socket = channel as? any SocketOptionProvider else { return channel.close() }
      return socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).flatMap { channel.close() }
    }
  }

  private static let notModified = 304
}
