import RosterModel
import Testing

@testable import RosterStatus

@Suite struct RequestAssemblyTests {
  private func status(_ action: RequestAssembly.Action) -> Int? {
    guard case .refuse(let response) = action else { return nil }
    return response.status
  }

  @Test("S2.4: a request is complete with its end, and the next one starts from scratch")
  func completes() {
    var assembly = RequestAssembly()
    for body in ["one", "two"] {
      let request = StatusRequest(method: "POST", target: "/v1/sync")
      #expect(assembly.head(request, named: true) == .wait)
      #expect(assembly.body(Array(body.utf8)) == .wait)
      var whole = request
      whole.body = Array(body.utf8)
      #expect(assembly.end() == .answer(whole))
    }
  }

  @Test("S2.2: a head of 16 KiB is accepted, a longer one is 431, whether it ends or not")
  func longHeads() {
    for (size, refused) in [(16 * 1024, nil), (16 * 1024 + 1, 431)] as [(Int, Int?)] {
      var assembly = RequestAssembly()
      assembly.arrived(size)
      #expect(status(assembly.head(StatusRequest(method: "GET", target: "/"), named: true)) == refused)

      var endless = RequestAssembly()
      endless.arrived(size)
      #expect(status(endless.settled()) == refused)
    }
  }

  @Test("S2.3: a body of 64 KiB is accepted, a longer one is 413, announced or not")
  func longBodies() {
    let limit = 64 * 1024
    for (size, refused) in [(limit, nil), (limit + 1, 413)] as [(Int, Int?)] {
      var announced = RequestAssembly()
      let length = Request.Header("Content-Length", String(size))
      #expect(
        status(announced.head(StatusRequest(method: "POST", target: "/", headers: [length]), named: true)) == refused)

      var streamed = RequestAssembly()
      _ = streamed.head(StatusRequest(method: "POST", target: "/"), named: true)
      _ = streamed.body([UInt8](repeating: 0, count: size - 1))
      #expect(status(streamed.body([0])) == refused)
    }
  }

  @Test("S2.1: after a refusal nothing more is read")
  func refusesOnce() {
    var assembly = RequestAssembly()
    #expect(status(assembly.expired()) == 408)
    #expect(assembly.head(StatusRequest(method: "GET", target: "/"), named: true) == .wait)
    #expect(assembly.end() == .wait)
    #expect(assembly.malformed(.syntax) == .wait)
    assembly.arrived(1 << 20)
    #expect(assembly.settled() == .wait)
  }

  @Test("S2.1: a request that is not HTTP, or without a Host, is 400")
  func malformed() {
    var assembly = RequestAssembly()
    #expect(status(assembly.malformed(.syntax)) == 400)
    var unnamed = RequestAssembly()
    #expect(status(unnamed.head(StatusRequest(method: "GET", target: "/"), named: false)) == 400)
  }

  @Test("S2.1: a head with two or unknown ways to end its body is 400")
  func framing() {
    let length = Request.Header("Content-Length", "5")
    func answered(_ headers: [Request.Header]) -> Int? {
      var assembly = RequestAssembly()
      return status(assembly.head(StatusRequest(method: "POST", target: "/v1/sync", headers: headers), named: true))
    }
    for codings in [[""], ["gzip"], ["gzip, chunked"], ["chunked", "chunked"]] {
      let headers = codings.map { Request.Header("Transfer-Encoding", $0) }
      #expect(answered(headers) == 400 && answered(headers + [length]) == 400, "\(codings)")
    }
    #expect(answered([.init("Transfer-Encoding", "chunked"), length]) == 400)
    #expect(answered([.init("Transfer-Encoding", "Chunked")]) == nil && answered([length]) == nil)
  }

  @Test("A client that waits for 100 Continue gets it, unless it is refused")
  func expectation() {
    let expect = Request.Header("Expect", "100-continue")
    var assembly = RequestAssembly()
    #expect(assembly.head(StatusRequest(method: "POST", target: "/", headers: [expect]), named: true) == .goOn)
    var large = RequestAssembly()
    let length = Request.Header("Content-Length", "70000")
    #expect(
      status(large.head(StatusRequest(method: "POST", target: "/", headers: [expect, length]), named: true)) == 413)
  }
}
