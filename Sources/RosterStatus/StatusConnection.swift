import NIOCore
import NIOHTTP1
internal import RosterCore

/// One client of the status socket: reads one request, answers it and closes, or streams events to it. Only the event
/// loop uses it.
final class StatusConnection: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private enum State {
    /// The head is being received.
    case head
    /// The body is being received.
    case body(StatusRequest)
    /// The answer is being made or sent. Further input is ignored.
    case answering
  }

  /// Bytes of events that are written at a time, and that may wait in the channel.
  private static let chunk = 32 * 1024
  /// Time for a refused client to read the answer: closing with unread input would discard it.
  private static let linger = TimeAmount.seconds(1)

  let routes: StatusRoutes
  private let limits: StatusLimits
  private let peer: UInt32?
  let connections: StatusConnections
  private let headLimit = HeadLimit()
  private(set) var context: ChannelHandlerContext?
  private var state = State.head
  /// Bytes of the answer that were not sent yet.
  private(set) var unsent = 0
  /// True if the server stops, so that only a request that has arrived is answered.
  private var finishing = false
  private var refused = false
  private var timer: Scheduled<Void>?
  var work: Task<Void, Never>?
  var longPoll: LongPoll?
  private var reader: EventLog.ReaderID?
  private var streamed = NIODeadline.uptimeNanoseconds(0)
  private var nextPump: Scheduled<Void>?
  private var active = NIODeadline.now()

  init(routes: StatusRoutes, limits: StatusLimits, peer: UInt32?, connections: StatusConnections) {
    self.routes = routes
    self.limits = limits
    self.peer = peer
    self.connections = connections
  }

  /// Bytes of one read, enough for a usual request.
  static let readSize = 16 * 1024

  /// Puts this connection behind HTTP/1.1 on a new channel.
  func join(_ channel: any Channel) throws {
    var decoding = NIOHTTPDecoderLimitConfiguration()
    decoding.maxHeaderFieldSize = HeadLimit.bytes
    decoding.maxHeaderListSize = HeadLimit.bytes
    decoding.maxHeaderFieldCount = HeadLimit.bytes / 4  // `a:` and the line's end: only the size counts
    var encoding = HTTPResponseEncoder.Configuration()
    encoding.automaticallySetFramingHeaders = false  // it knows nothing of HEAD
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(headLimit)
    try pipeline.addHandler(HTTPResponseEncoder(configuration: encoding))
    try pipeline.addHandler(
      ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: decoding)))
    try pipeline.addHandler(self)
  }

  private var isAnswering: Bool { if case .answering = state { true } else { false } }

  /// True if this connection, rather than the other, is closed for a new connection.
  func isIdler(than other: StatusConnection) -> Bool {
    isAnswering == other.isAnswering ? active < other.active : !isAnswering
  }

  /// True if this connection, rather than the other, gives up its answer.
  func isSlower(than other: StatusConnection) -> Bool {
    (unsent > 0) == (other.unsent > 0) ? active < other.active : unsent > 0
  }

  /// True if no byte of its answer was sent during this time.
  func isStill(for time: TimeAmount) -> Bool { active + time <= .now() }

  /// Answers a request that has arrived, ends an event stream, then closes.
  func finish() {
    finishing = true
    if reader != nil { return endStream() }
    endLongPoll()
    if !isAnswering { close() }
  }

  func close() {
    connections.sent(unsent)
    unsent = 0
    context?.close(promise: nil)
  }

  // MARK: Events of the channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.incomplete)) {
      self.refuse(.problem(408, detail: "the request was not complete in time"))
    }
    connections.add(self)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    work?.cancel()
    longPoll?.timer.cancel()
    longPoll = nil
    nextPump?.cancel()
    if let reader { routes.board.events.unsubscribe(reader) }
    reader = nil
    connections.sent(unsent)
    unsent = 0
    connections.remove(self)
    self.context = nil
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A client that has shut down its sending side still gets its answer.
    if event as? ChannelEvent == .inputClosed, !isAnswering || refused { close() }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    active = .now()
    switch (state, Self.unwrapInboundIn(data)) {
    case (.head, .head(let head)): receive(StatusRequest(head, peer: peer))
    case (.body(var request), .body(let bytes)):
      state = .head  // so that the bytes are appended in place
      let refusal = request.append(bytes.readableBytesView)
      state = .body(request)
      if let refusal { refuse(refusal) }
    case (.body(let request), .end):
      beginAnswer()
      send(routes.answer(request), to: request)
    case (.head, .body), (.head, .end), (.body, .head), (.answering, _): break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if isAnswering { return }
    if let error = error as? HTTPParserError { refuse(error.refusal) } else { close() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    pump()
    context.fireChannelWritabilityChanged()
  }

  private func receive(_ request: StatusRequest) {
    headLimit.end()
    if let refusal = request.refusal { return refuse(refusal) }
    state = .body(request)
    guard request.isHTTP11, request.header("expect")?.lowercased() == "100-continue" else { return }
    context?.writeAndFlush(
      Self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
  }
}

// MARK: Answers

extension StatusConnection {
  private func refuse(_ response: Response) {
    if isAnswering { return }
    beginAnswer()
    headLimit.end()
    refused = true
    write(response, isBodyless: false)
  }

  private func beginAnswer() {
    timer?.cancel()
    timer = nil
    state = .answering
  }

  private func send(_ answer: StatusAnswer, to request: StatusRequest) {
    switch answer {
    case .now(let response): write(response, to: request)
    case .later(let answer): connections.startWork(for: self) { self.work(on: answer, to: request) }
    case .longPoll(let limit, let look): wait(for: limit, look, to: request)
    case .events where request.method == "HEAD":
      write(Response(status: 200, headers: Self.streamHeaders), to: request)
    case .events(let last): stream(after: last, to: request)
    }
  }

  private func work(on answer: @escaping @Sendable () async -> Response, to request: StatusRequest) {
    guard let context else { return connections.workEnded() }
    let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
    // The connection owns the task, and cancels it when the client disconnects.
    work = Task {
      let response = await answer()
      connection.eventLoop.execute {
        connection.value.write(response, to: request)
        connection.value.connections.workEnded()
      }
    }
  }

  func write(_ response: Response, to request: StatusRequest) {
    write(response, isBodyless: request.method == "HEAD")
  }

  private func write(_ response: Response, isBodyless: Bool) {
    guard let context else { return }
    work = nil
    var head = responseHead(response.status, headers: response.headers)
    let isStream = response.body.isEmpty && isBodyless
    if !isStream { head.headers.add(name: "Content-Length", value: String(response.body.count)) }
    context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    if !isBodyless {
      context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
      active = .now()
      unsent += response.body.count
      connections.sending(response.body.count, to: self)
    }
    end(context)
  }

  /// Ends an answer, and closes when it was sent.
  private func end(_ context: ChannelHandlerContext) {
    let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
    context.writeAndFlush(Self.wrapOutboundOut(.end(nil))).whenComplete { _ in
      // A write that fails completes in the middle of a close.
      connection.eventLoop.execute { connection.value.answered() }
    }
  }

  private func answered() {
    guard let context else { return }
    guard refused else { return close() }
    connections.sent(unsent)
    unsent = 0
    context.close(mode: .output, promise: nil)
    context.eventLoop.assumeIsolated().scheduleTask(in: Self.linger) { self.close() }
  }

  private func responseHead(_ status: Int, headers: [Request.Header]) -> HTTPResponseHead {
    var fields = HTTPHeaders(headers.map { ($0.name, $0.value) })
    fields.add(name: "Date", value: routes.board.clock.now().httpDate)
    fields.add(name: "Cache-Control", value: "no-store")
    for field in Response.seclusion where !fields.contains(name: field.name) {
      fields.add(name: field.name, value: field.value)
    }
    fields.add(name: "Connection", value: "close")
    // NIO's own phrases are older, for example "Payload Too Large" for 413.
    let named = Response.title(of: status).map { HTTPResponseStatus.custom(code: UInt(status), reasonPhrase: $0) }
    return HTTPResponseHead(
      version: .http1_1, status: named ?? HTTPResponseStatus(statusCode: status), headers: fields)
  }
}

// MARK: Event streams

extension StatusConnection {
  /// Time between two writes to a reader. With a call for every page, fifty readers would delay other clients.
  private static let pace = TimeAmount.milliseconds(20)
  private static let streamHeaders = [Request.Header("Content-Type", "text/event-stream")]

  private func stream(after last: UInt64?, to request: StatusRequest) {
    guard let context else { return }
    // A client of HTTP/1.0 does not understand chunks: its stream ends with the connection.
    let chunked = request.isHTTP11
    var head = responseHead(200, headers: Self.streamHeaders)
    if chunked { head.headers.add(name: "Transfer-Encoding", value: "chunked") }
    // The subscription precedes the head, because a reader of the head expects all later events.
    let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
    reader = routes.board.events.subscribe(after: last) {
      connection.eventLoop.execute { connection.value.pumpInTime() }
    }
    context.writeAndFlush(Self.wrapOutboundOut(.head(head)), promise: nil)
    if finishing { endStream() } else { pump() }
  }

  private func pumpInTime() {
    guard let context, nextPump == nil else { return }
    if streamed + Self.pace <= .now() { return pump() }
    nextPump = context.eventLoop.assumeIsolated().scheduleTask(deadline: streamed + Self.pace) {
      self.nextPump = nil
      self.pump()
    }
  }

  /// Writes events while the client accepts them; drops a client that is too slow.
  private func pump() {
    while let reader, let context {
      let room = context.channel.isWritable ? Self.chunk : 0
      switch routes.board.events.take(reader, bytes: room) {
      case .nothing: return
      case .dropped: return close()
      case .events(let entries, let cost): write(entries, cost: cost, to: reader, context: context)
      }
    }
  }

  private func write(_ entries: [EventEntry], cost: Int, to reader: EventLog.ReaderID, context: ChannelHandlerContext) {
    var buffer = context.channel.allocator.buffer(capacity: Self.chunk)
    for entry in entries { buffer.writeBytes(entry.frame) }
    let log = routes.board.events
    context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(buffer)))).whenComplete { _ in
      log.wrote(reader, cost: cost)
    }
    active = .now()
    streamed = active
  }

  private func endStream() {
    pump()
    guard let reader, let context else { return }
    routes.board.events.unsubscribe(reader)
    self.reader = nil
    end(context)
  }
}

/// The open connections of one server, on its event loop.
final class StatusConnections {
  /// Limit in bytes for unsent answers of all clients together. A few of the largest answers fit, so that clients that
  /// never read cost no more memory.
  private static let maxUnsent = 12 << 20
  /// Above this number of unsent bytes, no other answer is made. An answer may have 2 MiB, and the answers of active
  /// readers must stay below `maxUnsent`.
  private static let crowded = 4 << 20
  /// Time that other clients wait for a client that does not read.
  private static let patience = TimeAmount.seconds(1)

  private let limit: Int
  private let maxWork: Int
  private var unsent = 0
  private var working = 0
  private var work = CircularBuffer<(connection: StatusConnection, start: () -> Void)>()
  private var open: [ObjectIdentifier: StatusConnection] = [:]
  private var drained: EventLoopPromise<Void>?
  private var isRoomAwaited = false
  private var longPolls: [ObjectIdentifier: StatusConnection] = [:]

  init(_ limits: StatusLimits) {
    limit = limits.connections
    maxWork = limits.maxWork
  }

  /// Adds a connection. If there are too many, closes the one that has been idle longest, and prefers connections
  /// without an open answer.
  func add(_ connection: StatusConnection) {
    if open.count >= limit, let idle = open.values.min(by: { $0.isIdler(than: $1) }) {
      // The connection is removed at once, because another accept in the same turn must find another one.
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
    if open.isEmpty { drained?.succeed() }
  }

  /// Counts an answer that is being sent. If too many bytes are unsent, closes the slowest other connections.
  func sending(_ bytes: Int, to connection: StatusConnection) {
    unsent += bytes
    while unsent > Self.maxUnsent, let slowest, slowest !== connection { slowest.close() }
  }

  private var slowest: StatusConnection? {
    let slowest = open.values.min { $0.isSlower(than: $1) }
    return (slowest?.unsent ?? 0) > 0 ? slowest : nil
  }

  /// Calls `start` when an answer may be made. Call `workEnded` afterwards.
  func startWork(for connection: StatusConnection, _ start: @escaping () -> Void) {
    work.append((connection, start))
    goOnWorking()
  }

  func workEnded() {
    working -= 1
    goOnWorking()
  }

  /// Call this when this number of bytes was sent, or was given up.
  func sent(_ bytes: Int) {
    unsent -= bytes
    goOnWorking()
  }

  private func goOnWorking() {
    while working < maxWork, unsent <= Self.crowded, let next = work.popFirst() {
      working += 1
      next.start()
    }
    if unsent > Self.crowded, let loop = work.first?.connection.context?.eventLoop { makeRoom(on: loop) }
  }

  /// Closes connections that have not read their answer for a while, as long as others wait.
  private func makeRoom(on loop: any EventLoop) {
    if isRoomAwaited { return }
    isRoomAwaited = true
    loop.assumeIsolated().scheduleTask(in: Self.patience) {
      self.isRoomAwaited = false
      while self.work.first != nil, self.unsent > Self.crowded, let slowest = self.slowest,
        slowest.isStill(for: Self.patience)
      {
        slowest.close()
      }
      self.goOnWorking()
    }
  }

  /// True if the server is stopping, so that no client waits any more.
  var isDraining: Bool { drained != nil }

  /// Adds a connection that looks again at the next snapshot.
  func waitForNews(_ connection: StatusConnection) { longPolls[ObjectIdentifier(connection)] = connection }

  func stopWaiting(_ connection: StatusConnection) { longPolls[ObjectIdentifier(connection)] = nil }

  /// Call this when readers see another snapshot.
  func published() {
    let waiting = longPolls.values
    longPolls = [:]
    for connection in waiting { connection.lookForNews() }
  }

  /// Lets each connection answer its received requests, and closes the remaining connections after the time.
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
