import FoundationEssentials
import Logging
import RosterAuth
import RosterCore
import RosterDecode
import RosterFetch
import RosterSimulator
import Testing

/// The result of a page request to a server that gives the same answer each time.
private struct Asked {
  var answer: PageFetcher.Answer?
  var failure: Failure?
  var bytes: Int
  var holdsFor: TimeInterval?
  var requests: Int

  init(_ answer: RawServer.Answer) async throws {
    let clock = WallClock(now: { start }, sleep: { _ in })
    let transport = HTTPTransport(.init())
    let hold = RetryAfterGate()
    let tally = Tally()
    var told: Result<PageFetcher.Answer, any Error>?
    var requests = 0
    try await RawServer.run(answer) { server in
      let fetcher = PageFetcher(
        send: Interceptor.chain([.measure(tally, clock: clock) { _, _, _ in }], to: transport.send),
        retry: Retry(table: RetryTable(RetryDelays()), gate: hold, clock: clock),
        digest: PageDigest(first: 1, second: 2), clock: clock, report: { _ in })
      let paging = Paging(.character, baseURL: "http://127.0.0.1:\(server.port)")
      do {
        told = .success(
          try await fetcher.fetch(
            .init(page: paging.first(), isAnnounced: false), of: paging, plans: [RecordPlan(.character)],
            for: .init(sync: 1, tally: tally)))
      } catch { told = .failure(error) }
      requests = server.requests
    }
    await transport.shutdown()
    self.answer = try? told?.get()
    if case .failure(let error) = told { failure = error as? Failure }
    bytes = tally.now.bytes
    holdsFor = hold.remaining(clock)?.seconds
    self.requests = requests
  }

  var page: FetchedPage? {
    if case .page(let page) = answer { page } else { nil }
  }
}

private let start = Date(timeIntervalSince1970: 784_111_777)
private let json = #"{"info":{"count":0,"pages":1,"next":null,"prev":null},"results":[]}"#
private let gzip = "Content-Encoding: gzip\r\n"
private let tooMany = HTTPTransport.maxBytes + 1

private func packed(_ text: String = json) async throws -> [UInt8] {
  try await Command.finish("printf '%s' '\(text)' | gzip -c")
}

private func answer(_ status: String, headers: String = "", body: [UInt8] = []) -> RawServer.Answer {
  .init("HTTP/1.1 \(status)\r\n\(headers)\r\n", body: body)
}

private func sized(_ status: String, headers: String = "", body: [UInt8] = []) -> RawServer.Answer {
  answer(status, headers: headers + "Content-Length: \(body.count)\r\n", body: body)
}

private func chunk(_ bytes: [UInt8]) -> [UInt8] {
  Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
}

private let lastChunk = Array("0\r\n\r\n".utf8)
private let chunked = "Transfer-Encoding: chunked\r\n"

/// Bodies that cannot be read to their end.
private enum Unreadable: CaseIterable {
  case emptyGzip, plainBehindGzip, cut, cutGzip, announcedTooLarge, tooLarge

  func answer(_ status: String) async throws -> RawServer.Answer {
    switch self {
    case .emptyGzip: sized(status, headers: gzip)
    case .plainBehindGzip: sized(status, headers: gzip, body: Array("plain".utf8))
    case .cut: RosterFetchTests.answer(status, headers: "Content-Length: 9\r\n", body: Array("half".utf8))
    case .cutGzip: sized(status, headers: gzip, body: (try await packed()).dropLast(12))
    case .announcedTooLarge:
      RosterFetchTests.answer(
        status, headers: "Content-Length: \(tooMany)\r\n", body: [UInt8](repeating: 0x20, count: 512))
    case .tooLarge:
      RosterFetchTests.answer(
        status, headers: chunked, body: chunk([UInt8](repeating: 0x20, count: tooMany)) + lastChunk)
    }
  }
}

@Suite struct AnswerTests {
  // MARK: The status

  @Test("24, 34: an unreadable body does not hide the status", arguments: Unreadable.allCases)
  fileprivate func status(_ body: Unreadable) async throws {
    let transport = HTTPTransport(.init())
    for status in [302, 401, 403, 404, 429, 503] {
      try await RawServer.run(try await body.answer("\(status) Not Now")) { server in
        let response = try? await transport.send(Request(.get, "http://127.0.0.1:\(server.port)/"))
        #expect(response?.status == status)
      }
    }
    await transport.shutdown()
  }

  @Test("24: a status that is not retried stays so, whatever its body is", arguments: Unreadable.allCases)
  fileprivate func final(_ body: Unreadable) async throws {
    let asked = try await Asked(try await body.answer("403 Forbidden"))
    #expect(asked.failure?.reason == .status(403) && asked.failure?.kind == .badAnswer)
    #expect(asked.requests == 1)
  }

  @Test("25: Retry-After counts, whatever the body is", arguments: Unreadable.allCases)
  fileprivate func hold(_ body: Unreadable) async throws {
    let asked = try await Asked(try await body.answer("503 Later\r\nRetry-After: 5000"))
    #expect(asked.failure?.kind == .unreachable)
    #expect(asked.requests == 1)
    #expect(asked.holdsFor == 5000)
  }

  @Test("14, 24, 52: the body of a partial answer counts like that of a page", arguments: [200, 206])
  func partial(status: Int) async throws {
    let transport = HTTPTransport(.init())
    for (body, reason) in [(Unreadable.cut, Failure.Reason.truncated), (.announcedTooLarge, .tooLarge)] {
      try await RawServer.run(try await body.answer("\(status) Yes")) { server in
        let fault = await #expect(throws: Failure.self) {
          try await transport.send(Request(.get, "http://127.0.0.1:\(server.port)/"))
        }
        #expect(fault?.reason == reason)
      }
    }
    await transport.shutdown()
  }

  @Test("33: a refused token request is refused, whatever its body is", arguments: Unreadable.allCases)
  fileprivate func refusal(_ body: Unreadable) async throws {
    let transport = HTTPTransport(.init())
    try await RawServer.run(try await body.answer("400 Bad Request")) { server in
      let response = try? await transport.send(Request(.post, "http://127.0.0.1:\(server.port)/token"))
      #expect(response?.status == 400)
    }
    await transport.shutdown()
  }

  @Test("33: a token answer with status 2xx and an unreadable body grants nothing", arguments: [200, 201])
  func granted(status: Int) async throws {
    let transport = HTTPTransport(.init())
    try await RawServer.run(try await Unreadable.plainBehindGzip.answer("\(status) Yes")) { server in
      let failure = await #expect(throws: Failure.self) {
        try await transport.send(Request(.post, "http://127.0.0.1:\(server.port)/token"))
      }
      #expect(failure?.reason == .malformed)
    }
    await transport.shutdown()
  }

  @Test("33, 34: a 401 with a broken gzip body causes a refresh, and a 400 with one ends the session")
  func refresh() async throws {
    let broken = Fault.answer(status: 400, headers: [.init("Content-Encoding", "gzip")], body: "no gzip")
    let rules = [
      Rule.on(.page(1), times: 1, .answer(status: 401, headers: [.init("Content-Encoding", "gzip")])),
      .on(.token(2), broken), .on(.page(2), .answer(status: 401, headers: [.init("Content-Encoding", "gzip")])),
    ]
    try await withTransport(Scenario(tokens: .init(flow: .oauth2Refresh), rules: rules)) { upstream, transport in
      let folder = FileManager.default.temporaryDirectory.path + "/rosterd-fetch-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let keeper = try await keeper(upstream, transport: transport, in: folder)
      let send = Interceptor.chain([.authorize(keeper, baseURL: upstream.baseURL)], to: transport.send)
      try await keeper.syncBegins()
      #expect(try await send(Request(.get, "\(upstream.baseURL)/character?page=1")).status == 200)
      #expect(upstream.counts.tokensGranted == 1)
      let failure = await #expect(throws: Failure.self) {
        try await send(Request(.get, "\(upstream.baseURL)/character?page=2"))
      }
      #expect(failure?.kind == .refused && failure?.cause.contains("refuses") == true, "\(String(describing: failure))")
    }
  }

  private func keeper(_ upstream: Simulator, transport: HTTPTransport, in folder: String) async throws -> TokenKeeper {
    let given = upstream.credentials
    let settings = TokenSettings(
      flow: .oauth2Refresh, tokenURL: upstream.tokenURL, baseOrigin: upstream.origin, tokenOrigin: upstream.origin,
      storePath: folder + "/token.json")
    let keeper = TokenKeeper(
      settings: settings,
      credentials: { _ in
        .init(
          refreshToken: given.refreshToken.map { Secret($0) }, accessToken: given.accessToken.map { Secret($0) },
          clientID: given.clientID.map { Secret($0) }, clientSecret: given.clientSecret.map { Secret($0) })
      },
      send: transport.send, report: { _ in }, onStatus: { _ in }, logger: Logger(label: "test"))
    try await keeper.open()
    return keeper
  }

  // MARK: Compression

  @Test("A body of several gzip members is their contents, one after the other (RFC 1952 §2.2)")
  func members() async throws {
    let half = json.index(json.startIndex, offsetBy: 20)
    let body = try await packed(String(json[..<half])) + packed("") + packed(String(json[half...]))
    for answer in [
      sized("200 OK", headers: gzip, body: body), sized("200 OK", headers: "Content-Encoding: x-gzip\r\n", body: body),
      // The length is that of the text.
      answer("200 OK", headers: gzip + "Content-Length: 9999\r\n", body: body),
      // A proxy has lost the header.
      sized("200 OK", body: body),
    ] {
      #expect(try await Asked(answer).page?.body == Array(json.utf8))
    }
  }

  @Test("14: a body that is not the gzip of its header is retried once, and the message reports it")
  func brokenCompression() async throws {
    let whole = try await packed()
    let bodies = [[], whole.dropLast(12), Array(whole.prefix(5)), whole + Array("tail".utf8), Array(json.utf8)]
    for body in bodies {
      for answer in [
        sized("200 OK", headers: gzip, body: Array(body)),
        answer("200 OK", headers: gzip + chunked, body: body.isEmpty ? lastChunk : chunk(Array(body)) + lastChunk),
      ] {
        let asked = try await Asked(answer)
        #expect(asked.failure?.reason == .malformed && asked.failure?.kind == .badAnswer)
        #expect(asked.failure?.cause.contains("Error") == false)
        #expect(asked.requests == 2)
      }
    }
  }

  @Test("24: a gzip body whose connection is cut is truncated")
  func cutCompression() async throws {
    let half = Array(try await packed().dropLast(12))
    for answer in [
      answer("200 OK", headers: gzip, body: half),
      answer("200 OK", headers: gzip + "Content-Length: \(half.count + 12)\r\n", body: half),
      answer("200 OK", headers: gzip + chunked, body: chunk(half)),
    ] {
      let asked = try await Asked(answer)
      #expect(asked.failure?.reason == .truncated)
      #expect(asked.requests == 4)
    }
  }

  // MARK: The head

  @Test(
    "24: an answer that is cut off in its head is truncated, like one cut off in its body",
    arguments: ["H", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"])
  func cutHead(head: String) async throws {
    let asked = try await Asked(.init(head))
    #expect(asked.failure?.reason == .truncated && asked.failure?.kind == .unreachable)
    #expect(asked.requests == 4)
  }

  @Test("14, 24: an answer that is not HTTP is malformed, and no answer at all is a connection failure")
  func noHead() async throws {
    let asked = try await Asked(.init("SSH-2.0-x\r\n"))
    #expect(asked.failure?.reason == .malformed && asked.requests == 2)
    let silent = try await Asked(.init())
    #expect(silent.failure?.reason == .connection && silent.requests == 4)
  }

  @Test("32: a token request whose answer is cut off in its head is tried again, as one without an answer")
  func cutGrant() async throws {
    let transport = HTTPTransport(.init())
    try await RawServer.run(.init("HTTP/1.1 200 OK\r\nContent-Type: appl")) { server in
      let fault = await #expect(throws: Failure.self) {
        try await transport.send(Request(.post, "http://127.0.0.1:\(server.port)/token"))
      }
      #expect(fault?.reason == .truncated && fault?.exchange?.isUnsent == false && server.requests == 1)
    }
    await transport.shutdown()
  }

  // MARK: What is counted

  @Test("syncs.bytes counts a body as received, with and without Content-Length")
  func receivedWhole() async throws {
    let text = String(json.dropLast(2)) + "]," + #""note":"\#(String(repeating: "long ", count: 800))"}"#
    let body = try await packed(text)
    for answer in [
      sized("200 OK", headers: gzip, body: body), answer("200 OK", headers: gzip, body: body),
      answer(
        "200 OK", headers: gzip + chunked,
        body: chunk(Array(body.prefix(20))) + chunk(Array(body.dropFirst(20))) + lastChunk),
    ] {
      let asked = try await Asked(answer)
      #expect(asked.page != nil)
      #expect(asked.bytes == body.count)
    }
    #expect(try await Asked(sized("200 OK", headers: "", body: Array(text.utf8))).bytes == text.utf8.count)
    #expect(try await Asked(sized("404 Not Found", headers: "", body: Array("none".utf8))).bytes == 4)
  }

  @Test("syncs.bytes counts what was received of a failed answer too, each time")
  func receivedInPart() async throws {
    #expect(
      try await Asked(answer("200 OK", headers: "Content-Length: 99\r\n", body: Array("half".utf8))).bytes == 4 * 4)
    #expect(try await Asked(sized("200 OK", headers: gzip, body: Array("plain".utf8))).bytes == 2 * 5)
    let bomb = try await Command.finish("head -c \(tooMany) /dev/zero | gzip -c")
    #expect(
      try await Asked(answer("200 OK", headers: gzip + chunked, body: chunk(bomb) + lastChunk)).bytes == 2 * bomb.count)
    for large in [Unreadable.announcedTooLarge, .tooLarge] {
      let asked = try await Asked(try await large.answer("200 OK"))
      #expect(asked.failure?.reason == .tooLarge)
      #expect(asked.bytes >= 2 * 512)
    }
  }

  // MARK: Headers

  @Test(
    "9, 14: white space around a header's value is not part of it (RFC 9110 §5.5)",
    arguments: [" ", "\t", " \t "])
  func space(space: String) async throws {
    let body = try await packed()
    let page = try await Asked(
      answer(
        "200 OK", headers: "Content-Encoding:\(space)gzip\(space)\r\nETag: \"a\"\(space)\r\nX:\(space)\r\n", body: body)
    )
    #expect(page.page?.body == Array(json.utf8) && page.page?.validator == Validator(etag: "\"a\""))
    #expect(try await Asked(sized("503 Later\r\nRetry-After: 5000\(space)")).holdsFor == 5000)
    let transport = HTTPTransport(.init())
    try await RawServer.run(answer("200 OK", headers: "Link:\(space)a \t b\(space)\r\nX:\(space)\r\n")) { server in
      let response = try await transport.send(Request(.get, "http://127.0.0.1:\(server.port)/"))
      #expect(response["Link"] == "a \t b" && response["X"] == "")
    }
    await transport.shutdown()
  }

  @Test("25: a Retry-After of any number of digits counts, and is a day at most")
  func endless() async throws {
    let asked = try await Asked(sized("503 Later\r\nRetry-After: 99999999999999999999"))
    #expect(asked.requests == 1)
    #expect(asked.holdsFor == 86400)
  }

  @Test(
    "9: a validator is an entity tag that can be sent back unchanged (RFC 9110 §8.8.3)",
    arguments: [
      "*", "", "abc", "W/", "W/*", "w/\"a\"", "\"a", "a\"", "\"", "\"a\"b\"", "\"a b\"", "\"a\", \"b\"",
    ])
  func noTag(text: String) async throws {
    try await expectTag(nil, of: Array(text.utf8))
  }

  @Test("9: a tag whose bytes are not UTF-8 is no validator")
  func noText() async throws {
    try await expectTag(nil, of: [0x22, 0xE9, 0x22])
  }

  @Test("9: an entity tag is a validator", arguments: ["\"a\"", "W/\"a\"", "\"\"", "W/\"!#[]~\"", "\"é\""])
  func tag(text: String) async throws {
    try await expectTag(text, of: Array(text.utf8))
    try await withTransport { upstream, transport in
      _ = try await transport.send(
        Request(.get, "\(upstream.baseURL)/character?page=1", headers: [.init("If-None-Match", text)]))
      #expect(upstream.counts.pageRequests.first?["If-None-Match"] == text)
    }
  }

  private func expectTag(_ expected: String?, of bytes: [UInt8]) async throws {
    let head = Array("HTTP/1.1 200 OK\r\nContent-Length: \(json.utf8.count)\r\nETag: ".utf8)
    let asked = try await Asked(.init(head + bytes + Array("\r\n\r\n\(json)".utf8)))
    #expect(asked.page?.validator == Validator(etag: expected))
  }
}
