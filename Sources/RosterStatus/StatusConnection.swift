import NIOCore
import NIOHTTP1
internal import RosterModel

/// One client of the status socket: reads its requests, answers them in order, and streams events to it. Only the event
/// loop uses it.
final class StatusConnection: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  /// Bytes of events that are written at a time, and that may wait in the channel.
  private static let chunk = 32 * 1024
  /// Time for a refused client to read the answer: closing with unread input would discard it.
  private static let linger = TimeAmount.seconds(1)

  let routes: StatusRoutes
  private let limits: StatusLimits
  private let peer: UInt32?
  let connections: StatusConnections
  let gate = PipelineGate()
  private(set) var context: ChannelHandlerContext?
  private var assembly = RequestAssembly()
  /// True while an answer is being made or sent. The next request waits in the gate, so that a client needs memory for
  /// one answer only.
  private var busy = false
  /// Bytes of the answer that were not sent yet.
  private(set) var unsent = 0
  /// True if the connection closes after the answers to all received requests.
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

  /// True if this connection, rather than the other, is closed for a new connection.
  func isIdler(than other: StatusConnection) -> Bool {
    busy == other.busy ? active < other.active : !busy
  }

  /// True if this connection, rather than the other, gives up its answer.
  func isSlower(than other: StatusConnection) -> Bool {
    (unsent > 0) == (other.unsent > 0) ? active < other.active : unsent > 0
  }

  /// True if no byte of its answer was sent during this time.
  func isStill(for time: TimeAmount) -> Bool { active + time <= .now() }

  /// Answers the received requests, ends an event stream, then closes.
  func finish() {
    finishing = true
    if reader != nil { return endStream() }
    endLongPoll()
    closeIfDone()
  }

  func close() {
    connections.sent(unsent)
    unsent = 0
    context?.close(promise: nil)
  }

  private func closeIfDone() {
    if finishing, !busy, gate.isEmpty { close() }
  }

  // MARK: Events of the channel

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    connections.add(self)
    startTimer(context)
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
    switch event {
    case let piece as PipelineGate.Passing:
      active = .now()
      assembly.arrived(piece.bytes)
      if timer == nil, !refused { startTimer(context) }
    case ChannelEvent.inputClosed where refused: close()
    case ChannelEvent.inputClosed where reader == nil:
      finishing = true
      closeIfDone()
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch Self.unwrapInboundIn(data) {
    case .head(var head):
      head.headers = HTTPHeaders(head.headers.map { ($0.name, $0.value.fieldValue) })
      let request = StatusRequest(head, peer: peer)
      let hosts = head.headers["host"].count
      let isChunked = head.headers.contains(name: "transfer-encoding")
      gate.expectBody(isChunked ? nil : head.headers["content-length"].first.flatMap { Int($0) } ?? 0)
      perform(assembly.head(request, named: hosts == 1 || (hosts == 0 && !request.isHTTP11)))
    case .body(let bytes): perform(assembly.body(bytes.readableBytesView))
    case .end: perform(assembly.end())
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    perform(assembly.settled())
    context.fireChannelReadComplete()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? HTTPParserError {
      perform(assembly.malformed(fault(error)))
    } else if !refused {
      close()
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    pump()
    context.fireChannelWritabilityChanged()
  }

  private func fault(_ error: HTTPParserError) -> RequestAssembly.Fault {
    switch error {
    case .headerOverflow: .headTooLong
    case .invalidMethod where gate.isLineWellFormed: .method
    case .invalidVersion where gate.isLineWellFormed: .version
    default: .syntax
    }
  }

  private func startTimer(_ context: ChannelHandlerContext) {
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(limits.incomplete)) {
      self.perform(self.assembly.expired())
    }
  }
}

// MARK: Answers

extension StatusConnection {
  private func perform(_ action: RequestAssembly.Action) {
    switch action {
    case .wait: return
    case .goOn:
      context?.writeAndFlush(
        Self.wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
      return
    case .answer(let request):
      began()
      gate.pause()
      answer(request)
    case .refuse(let response):
      began()
      refused = true
      gate.discard()
      write(response, keepAlive: false)
    }
  }

  private func began() {
    timer?.cancel()
    timer = nil
    busy = true
  }

  private func answer(_ request: StatusRequest) {
    guard connections.isPaced else { return send(routes.answer(request), to: request) }
    connections.startWork(for: self, isSmall: StatusRoutes.isMonitoring(request.path)) {
      let answer = self.routes.answer(request)
      // The turn ends when the database has answered.
      if case .later(let answer) = answer { return self.work(on: answer, to: request) }
      self.send(answer, to: request)
      self.connections.workEnded()
    }
  }

  private func send(_ answer: StatusAnswer, to request: StatusRequest) {
    switch answer {
    case .now(let response): write(response, to: request)
    case .later(let answer): wait(for: answer, to: request)
    case .longPoll(let limit, let look): wait(for: limit, look, to: request)
    case .events where request.method == "HEAD":
      write(Response(status: 200, headers: Self.streamHeaders), to: request)
    case .events(let last): stream(after: last, to: request)
    }
  }

  private func wait(for answer: @escaping @Sendable () async -> Response, to request: StatusRequest) {
    connections.startWork(for: self) { self.work(on: answer, to: request) }
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
    let last = finishing && gate.isEmpty
    write(
      response, keepAlive: request.keepAlive && !last, isHTTP11: request.isHTTP11, bodyless: request.method == "HEAD")
  }

  private func write(_ response: Response, keepAlive: Bool, isHTTP11: Bool = true, bodyless: Bool = false) {
    guard let context else { return }
    work = nil
    var head = responseHead(response.status, headers: response.headers, keepAlive: keepAlive)
    // HTTP/1.0 does not assume a persistent connection (RFC 9112 §C.2.2).
    if keepAlive, !isHTTP11 { head.headers.add(name: "Connection", value: "keep-alive") }
    let streamed = response.body.isEmpty && bodyless
    if !streamed { head.headers.add(name: "Content-Length", value: String(response.body.count)) }
    context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    if !bodyless {
      context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
      active = .now()
      unsent += response.body.count
      connections.sending(response.body.count, to: self)
    }
    end(context, keepAlive: keepAlive)
  }

  /// Ends an answer, and continues when it was sent.
  private func end(_ context: ChannelHandlerContext, keepAlive: Bool) {
    let connection = NIOLoopBound(self, eventLoop: context.eventLoop)
    context.writeAndFlush(Self.wrapOutboundOut(.end(nil))).whenComplete { _ in
      // The loop calls it later: a thousand pipelined requests would otherwise need a thousand stack frames.
      connection.eventLoop.execute { connection.value.answered(keepAlive: keepAlive) }
    }
  }

  private func answered(keepAlive: Bool) {
    guard let context else { return }
    active = .now()
    busy = false
    connections.sent(unsent)
    unsent = 0
    if refused {
      context.close(mode: .output, promise: nil)
      context.eventLoop.assumeIsolated().scheduleTask(in: Self.linger) { self.close() }
    } else if !keepAlive {
      close()
    } else if gate.isEmpty {
      resume()
    } else {
      connections.goOn(self, on: context.eventLoop)
    }
  }

  func resume() {
    gate.resume()
    closeIfDone()
  }

  private func responseHead(
    _ status: Int, headers: [Request.Header], keepAlive: Bool
  ) -> HTTPResponseHead {
    var fields = HTTPHeaders(headers.map { ($0.name, $0.value) })
    fields.add(name: "Date", value: routes.board.clock.now().httpDate)
    fields.add(name: "Cache-Control", value: "no-store")
    for field in Response.seclusion where !fields.contains(name: field.name) {
      fields.add(name: field.name, value: field.value)
    }
    if !keepAlive { fields.add(name: "Connection", value: "close") }
    // NIO's own phrases are older, for example "Payload Too Large" for 413.
    let named = Response.title(of: status).map { HTTPResponseStatus.custom(code: UInt(status), reasonPhrase: $0) }
    return HTTPResponseHead(
      version: .http1_1, status: named ?? HTTPResponseStatus(statusCode: status), headers: fields)
  }
}

// MARK: Event streams

extension StatusConnection {
  /// Time between two writes to a reader. With a call for every page, fifty readers would delay other clients (S1).
  private static let pace = TimeAmount.milliseconds(20)
  private static let streamHeaders = [Request.Header("Content-Type", "text/event-stream")]

  private func stream(after last: UInt64?, to request: StatusRequest) {
    guard let context else { return }
    // A client of HTTP/1.0 does not understand chunks: its stream ends with the connection.
    let chunked = request.isHTTP11
    var head = responseHead(200, headers: Self.streamHeaders, keepAlive: chunked)
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
    for entry in entries { buffer.writeBytes(routes.offersRecords ? entry.frame : entry.frameWithoutKeys) }
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
    end(context, keepAlive: false)
  }
}
