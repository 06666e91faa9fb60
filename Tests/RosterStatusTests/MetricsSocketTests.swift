import Glibc
import RosterTestSupport
import Testing

@testable import RosterStatus

@Suite struct MetricsSocketTests {
  @Test(
    "46: the metrics socket is in the folder of the status socket, with its mode, and answers as long as that does")
  func beside() async throws {
    try await withFolder { folder in
      let place = StatusServer.Place.path(folder + "/status.sock", mode: 0o640)
      #expect(place.ofMetrics == .path(folder + "/status-metrics.sock", mode: 0o640))
      #expect(StatusServer.Place.path("/a/b", mode: 0).ofMetrics == .path("/a/b-metrics", mode: 0))
      let server = StatusServer(at: place, routes: makeRoutes())
      let metrics = StatusServer(
        at: try #require(place.ofMetrics), routes: makeRoutes().ofMonitors, on: server)
      try await server.start()
      try await metrics.start()
      let path = folder + "/status-metrics.sock"
      try await expectStatus(200, of: path, method: "GET", target: "/healthz")
      try await expectStatus(403, of: path, method: "GET", target: "/v1/changes?since=0")
      #expect(try await status(folder + "/status.sock", method: "GET", target: "/v1/changes?since=0") == 200)
      #expect(metrics.setMode(0o600))
      await metrics.stop()
      #expect(access(path, F_OK) != 0)
      #expect(try await status(folder + "/status.sock") == 200)
      await server.stop()
    }
  }

  @Test("46: with a passed socket the metrics socket is in that socket's folder")
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
      #expect(StatusServer.Place.passed(descriptor).ofMetrics == .path(folder + "/a-metrics.sock", mode: 0o620))
      let nameless = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(nameless) }
      #expect(StatusServer.Place.passed(nameless).ofMetrics == nil)
    }
  }
}
