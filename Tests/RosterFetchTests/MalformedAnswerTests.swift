import RosterCore
import RosterFetch
import Testing

/// The message about an answer that breaks a rule of HTTP.
@Suite struct MalformedAnswerTests {
  @Test(
    "14: the message about an answer that is not HTTP names the rule that the answer breaks",
    arguments: [
      ("SSH-2.0-OpenSSH_9.2\r\n", "its first line does not begin with HTTP/"),
      ("HTTP/2 200 OK\r\n\r\n", "its first line names no version of HTTP/1"),
      ("HTTP/1.1 20 OK\r\n\r\n", "its first line has no status of three digits"),
      ("HTTP/1.1 OK\r\n\r\n", "its first line has no status of three digits"),
      (head("X-Folded: a\r\n b\r\n"), "a header folded over two lines is obsolete"),
      (head("X-Folded: a\r\n\tb\r\n"), "a header folded over two lines is obsolete"),
      (head("No colon\r\n"), "a header is not one line of the form NAME: VALUE"),
      (head("Spaced : a\r\n"), "a header is not one line of the form NAME: VALUE"),
      (head("X-Control: a\u{1}b\r\n"), "a header is not one line of the form NAME: VALUE"),
      (head("Content-Length: two\r\n"), "its Content-Length is not one whole number"),
      (head("Content-Length: -1\r\n"), "its Content-Length is not one whole number"),
      (head("Content-Length: 2\r\nContent-Length: 3\r\n"), "it has a second Content-Length"),
      (head("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"), "is not valid, or beside a Content-Length"),
      (head("Transfer-Encoding: chunked\r\n") + "zz\r\n", "the size of a chunk is not hexadecimal"),
      (head("X-Long: \(String(repeating: "a", count: 90_000))\r\n"), "its header is larger than 80 KiB"),
    ])
  func rule(answer: String, words: String) async throws {
    let fault = try await fault(.init(answer))
    let cause = fault?.cause ?? ""
    #expect(cause.hasPrefix("the answer is not HTTP/1.1: ") && cause.contains(words), "\(cause)")
    #expect(fault?.reason == .malformed && fault?.kind == .badAnswer)
    #expect(fault?.hint == "see what the server sends: curl -v --raw")
  }

  @Test(
    "14: the message about a body in an unexpected coding names the coding",
    arguments: ["br", "zstd", "gzip, gzip"])
  func coding(name: String) async throws {
    // The first bytes of zstd.
    let answer = RawServer.Answer(
      head("Content-Encoding: \(name)\r\nContent-Length: 4\r\n"), body: [0x28, 0xB5, 0x2F, 0xFD])
    let fault = try await fault(answer)
    #expect(fault?.cause == "the answer has Content-Encoding \(name), and only gzip and deflate can be read")
    #expect(fault?.reason == .malformed && fault?.hint?.contains("Accept-Encoding: gzip") == true)
  }

  @Test("14: the message about a compressed body in chunks names Transfer-Encoding")
  func transferCoding() async throws {
    let answer = RawServer.Answer(
      head("Transfer-Encoding: gzip, chunked\r\n") + "4\r\n",
      body: [0x1F, 0x8B, 0x08, 0xFD] + Array("\r\n0\r\n\r\n".utf8))
    let fault = try await fault(answer)
    #expect(fault?.cause == "the answer has Transfer-Encoding gzip, chunked, and only chunked can be read")
  }

  @Test("A body of plain text is read, whatever Content-Encoding says", arguments: ["UTF-8", "identity", "br"])
  func text(coding: String) async throws {
    #expect(try await fault(.init(head("Content-Encoding: \(coding)\r\nContent-Length: 2\r\n") + "{}")) == nil)
  }

  private func fault(_ answer: RawServer.Answer) async throws -> Failure? {
    var fault: Failure?
    try await RawServer.run(answer) { server in
      let transport = HTTPTransport(.init())
      do { _ = try await transport.send(Request(.get, "http://127.0.0.1:\(server.port)/")) } catch {
        fault = error as? Failure
      }
      await transport.shutdown()
    }
    return fault
  }
}

/// A valid head with these additional lines.
private func head(_ lines: String) -> String { "HTTP/1.1 200 OK\r\n\(lines)\r\n" }
