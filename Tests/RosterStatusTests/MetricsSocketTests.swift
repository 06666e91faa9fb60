import Glibc
import RosterTestSupport
import Synchronization
import Testing

@testable import RosterStatus

@Suite struct MetricsSocketTests {
  @Test(
    "S11.1: the metrics socket is in the folder of the status socket, with its mode, and answers as long as that does")
  func beside() async throws {
    try await withFolder { folder in
      let place = StatusServer.Place.path(folder + "/status.sock", mode: 0o640)
      #expect(place.withoutRecords == .path(folder + "/status-metrics.sock", mode: 0o640))
      #expect(StatusServer.Place.path("/a/b", mode: 0).withoutRecords == .path("/a/b-metrics", mode: 0))
      let server = StatusServer(at: place, routes: makeRoutes())
      let metrics = StatusServer(
        at: try #require(place.withoutRecords), routes: makeRoutes().withoutRecords, on: server)
      try await server.start()
      try await metrics.start()
      let path = folder + "/status-metrics.sock"
      try await expectStatus(200, of: path, method: "GET", target: "/healthz")
      try await expectStatus(403, of: path, method: "GET", target: "/v1/changes?since=0")
      #expect(try await status(folder + "/status.sock", method: "GET", target: "/v1/changes?since=0") == 200)
      #expect(metrics.setMode(0o600))
      // A removed socket is made again (S3).
      unlink(path)
      await metrics.lookAtName()
      try await expectStatus(200, of: path, method: "GET", target: "/healthz")
      await metrics.stop()
      #expect(access(path, F_OK) != 0)
      #expect(try await status(folder + "/status.sock") == 200)
      await server.stop()
    }
  }

  @Test("S11.1: with a passed socket the metrics socket is in that socket's folder")
  func passed() async throws {
    try await withFolder { folder in
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: (folder + "/a.sock").utf8) }
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let bound = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
      }
      #expect(bound == 0 && chmod(folder + "/a.sock", 0o620) == 0)
      #expect(StatusServer.Place.passed(descriptor).withoutRecords == .path(folder + "/a-metrics.sock", mode: 0o620))
      let nameless = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(nameless) }
      #expect(StatusServer.Place.passed(nameless).withoutRecords == nil)
    }
  }
}

/// When answers were made.
private final class Turns: Sendable {
  private let times = Mutex<[(begin: ContinuousClock.Instant, end: ContinuousClock.Instant)]>([])

  var all: [(begin: ContinuousClock.Instant, end: ContinuousClock.Instant)] { times.withLock { $0 } }

  /// Takes 2 ms of processor time.
  func work() {
    let begin = ContinuousClock.now
    while begin.duration(to: .now) < .milliseconds(2) {}
    times.withLock { $0.append((begin, ContinuousClock.now)) }
  }
}

@Suite(.timeLimit(.minutes(2))) struct MetricsPaceTests {
  @Test("S11.6: answers of the metrics socket are made one at a time, with three times its duration after each")
  func pace() async throws {
    let turns = Turns()
    let paced = StatusRoutes(
      board: makeBoard(),
      alive: {
        turns.work()
        return true
      },
      history: { _ in
        turns.work()
        return []
      }, sync: { _ in throw CancellationError() }, feed: { _ in throw CancellationError() }, cancel: { nil })
    try await withServer(paced.withoutRecords, limits: .ofMetricsSocket) { path, _ in
      let clients = try (0..<6).map { _ in try RawClient(path) }
      defer { for client in clients { client.close() } }
      for (number, client) in clients.enumerated() {
        let target = number.isMultiple(of: 2) ? "/healthz" : "/v1/syncs"
        try client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      }
      for client in clients { #expect(await client.read().hasPrefix("HTTP/1.1 200 ")) }
    }
    let all = turns.all
    #expect(all.count == 6)
    for (one, next) in zip(all, all.dropFirst()) {
      let rest = one.end.duration(to: next.begin)
      #expect(rest >= min(one.begin.duration(to: one.end) * 3, .milliseconds(250)))
    }
  }

  @Test("S11.6: the answer to a monitor comes before those of other paths that wait for longer")
  func monitorsFirst() async throws {
    let order = Mutex<[String]>([])
    let (asked, ask) = AsyncStream<Void>.makeStream()
    let (released, release) = AsyncStream<Void>.makeStream()
    let routes = StatusRoutes(
      board: makeBoard(),
      alive: {
        order.withLock { $0.append("healthz") }
        return true
      },
      history: { _ in
        if order.withLock({ $0.isEmpty }) {
          ask.yield()
          _ = await released.first { _ in true }
        }
        order.withLock { $0.append("syncs") }
        return []
      }, sync: { _ in throw CancellationError() }, feed: { _ in throw CancellationError() }, cancel: { nil })
    try await withServer(routes.withoutRecords, limits: .ofMetricsSocket) { path, _ in
      let clients = try (0..<4).map { _ in try RawClient(path) }
      defer { for client in clients { client.close() } }
      func get(_ target: String, client: Int) throws {
        try clients[client].send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      }
      try get("/v1/syncs", client: 0)
      _ = await asked.first { _ in true }
      try get("/v1/syncs", client: 1)
      try get("/healthz", client: 2)
      // This refusal needs no turn: by then the server has read the others.
      try clients[3].send("nonsense\r\n\r\n")
      #expect(await clients[3].read().hasPrefix("HTTP/1.1 400 "))
      release.yield()
      for client in clients.prefix(3) { #expect(await client.read().hasPrefix("HTTP/1.1 200 ")) }
    }
    #expect(order.withLock { $0 } == ["syncs", "healthz", "syncs"])
  }
}
