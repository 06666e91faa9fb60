import FoundationEssentials
import Glibc
import RosterCore
import RosterDecode
import RosterFetch
import RosterSimulator
import Testing

/// The result for a page's body, valid or not.
@Suite struct PageBodyTests {
  @Test("18: more announced pages than characters are malformed, not millions of requests")
  func pagesBeyondCount() async throws {
    let most = 1_000_000_000_000
    for (pages, cause) in [
      (2, "it announces 2 pages for 1 records"), (most, "it announces \(most) pages for 1 records"),
      (Int.max, "is not a whole number from 0 to \(most)"),
    ] {
      try await withBench([.on(.page(1), .info(count: 1, pages: pages))]) { _, bench in
        let failure = await bench.failure()
        #expect(failure?.reason == .malformed)
        #expect(failure?.cause.contains(cause) == true)
      }
    }
    try await withBench([.on(.page(1), .info(count: 0, pages: 1))]) { _, bench in
      #expect(await bench.failure() == nil)
    }
  }

  @Test("A byte order mark before a page or a list of characters is skipped (RFC 8259 §8.1)")
  func byteOrderMark() async throws {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let page = mark + Array(#"{"info":{"count":0,"pages":1},"results":[]}"#.utf8)
    let list = mark + Array("[]".utf8)
    try await RawServer.run(headed("200 OK", body: page), headed("200 OK", body: list)) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
        #expect(try await bench.page().body == Array(page.dropFirst(mark.count)))
        let answer = try await bench.fetch(keys: ["1", "2"])
        #expect(answer.body == Array("[]".utf8) && answer.scan.records == 0 && server.requests == 2)
      }
    }
  }

  @Test("14: a body that is not a page is retried once")
  func malformed() async throws {
    try await withBench([.on(.page(1), .html())]) { upstream, bench in
      let failure = await bench.failure()
      #expect(failure?.kind == .badAnswer && failure?.reason == .malformed)
      #expect(upstream.counts.pageRequests.count == 2)
      #expect(bench.naps.delays == [1])
    }
  }

  @Test("14: more than 8 MiB, announced, chunked or in gzip, is retried once")
  func tooLarge() async throws {
    let size = HTTPTransport.maxBytes + 1
    let bomb = try await Command.finish("head -c \(size) /dev/zero | gzip -c")
    #expect(bomb.count < 16384)
    let zeros = [UInt8](repeating: 0x20, count: size)
    let chunk = Array("\(String(size, radix: 16))\r\n".utf8) + zeros + Array("\r\n0\r\n\r\n".utf8)
    let answers = [
      headed("200 OK", headers: "Content-Length: \(size)\r\n", body: zeros),
      headed("200 OK", headers: "Transfer-Encoding: chunked\r\n", body: chunk),
      headed("200 OK", headers: "Content-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n", body: bomb),
    ]
    for answer in answers {
      try await RawServer.run(answer) { server in
        try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
          let failure = await bench.failure()
          #expect(failure?.kind == .badAnswer && failure?.reason == .tooLarge, "\(String(describing: failure))")
          #expect(server.requests == 2)
        }
      }
    }
  }

  @Test("9: a page in gzip is read and its bytes count as received; a 304 with Content-Encoding is a 304")
  func gzip() async throws {
    let json = #"{"info":{"count":0,"pages":1,"next":null,"prev":null},"results":[]}"#
    let packed = try await Command.finish("printf '%s' '\(json)' | gzip -c")
    let encoded = "Content-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n"
    try await RawServer.run(
      headed("200 OK", headers: encoded, body: packed), headed("304 Not Modified", headers: encoded)
    ) { server in
      try await withBench(at: "http://127.0.0.1:\(server.port)") { bench in
        _ = try await bench.page()
        #expect(bench.tally.now.bytes == packed.count)
        #expect(try await bench.fetch(validator: Validator(etag: "\"a\"")).isUnchanged == false)
      }
    }
  }

  @Test("27: a page has its totals, its body, its keys and its digest")
  func page() async throws {
    try await withBench { _, bench in
      let page = try await bench.page()
      #expect(page.facts.records == 20 && page.scans.map(\.records) == [20])
      #expect((page.facts.count ?? 0) > 20 && (page.facts.last ?? 0) > 1)
      #expect(page.digest == digest(page.body))
      #expect(page.receivedAt == bench.naps.now)
    }
  }

  @Test(
    "14, 19: a place whose value is not as the definition says is malformed, reported and retried once",
    arguments: [
      #"{"info":{"pages":1},"results":[]}"#, #"{"info":{"count":"no","pages":1},"results":[]}"#,
      #"{"info":{"count":0,"pages":-1},"results":[]}"#, #"{"info":{"count":0,"pages":1}}"#,
      #"{"info":{"count":0,"pages":1},"results":{}}"#, #"{"info":{"count":0,"pages":1},"results":[]"#, "",
    ])
  func undefined(body: String) async throws {
    try await withBench([.on(.page(1), .answer(status: 200, body: body))]) { upstream, bench in
      let failure = await bench.failure()
      #expect(failure?.kind == .badAnswer && failure?.reason == .malformed)
      #expect(failure?.step == "pull page 1 of character" && failure?.subject == bench.paging.first().request.url)
      #expect(upstream.counts.pageRequests.count == 2)
    }
  }
}
