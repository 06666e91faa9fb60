import Glibc
import Testing

@testable import RosterStatusClient

@Suite struct WebExchangeTests {
  /// The answer to a request with the printed token while no daemon answers.
  private func answer(_ target: String, gate: inout WebGate) throws -> String {
    var sides: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &sides) == 0)
    defer { close(sides[1]) }
    let head = Array("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n\r\n".utf8)
    try #require(write(sides[1], head, head.count) == head.count)
    var exchange = WebExchange(sides[0], patience: .seconds(10))
    exchange.goOn(Int16(POLLIN), daemonEvents: 0, gate: &gate, socket: DaemonSocket("/nonexistent/status.sock"))
    exchange.end()
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(sides[1], &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  @Test("46: the answer to the token's GET sets the cookie also if no daemon answers")
  func noDaemon() throws {
    var gate = WebGate(port: 9000)
    let token = gate.token
    let first = try answer("/v1/status?token=\(token)", gate: &gate)
    #expect(first.hasPrefix("HTTP/1.1 502 ") && gate.token != token)
    let field = first.firstMatch(of: /Set-Cookie: (rosterd-9000=[0-9a-f]{32}); Path=[^;]+; HttpOnly; SameSite=Strict/)
    let cookie = try #require(field).1
    let request = try WebRequest(
      head: Array("GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nCookie: \(cookie)".utf8))
    guard case .forward(_, nil) = gate.decide(request) else {
      Issue.record("the cookie opens nothing")
      return
    }
  }
}
