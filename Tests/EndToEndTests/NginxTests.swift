import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import Testing

/// Tests with a real web server, which compresses answers and makes its own validators.
@Suite(.timeLimit(.minutes(1))) struct NginxTests {
  @Test(
    "1, 9: a sync from nginx has every column and episode, and the next sync is answered with 304",
    arguments: ["on", "off"])
  func nginx(gzip: String) async throws {
    let nginx = try Program.tool("nginx")
    try await withSite { site in
      try await copyPages(of: site)
      let configuration = "\(site.folder)/nginx.conf"
      let socket = try FreePort.take()
      try Data(Self.configuration(site.folder, port: socket.port, gzip: gzip).utf8).write(
        to: URL(filePath: configuration))
      socket.give()
      let server = try Program(nginx, arguments: ["-p", site.folder, "-e", "stderr", "-c", configuration])
      try await answers(server, port: socket.port)
      let base = ["ROSTERD_UPSTREAM_BASE_URL": "http://127.0.0.1:\(socket.port)/api"]
      let first = try await site.sync(with: base)
      #expect(first.outcome == .published && first.records == 826 && first.requests == 42)
      try await site.expectUpstream()
      let second = try await site.sync(with: base)
      #expect(second.outcome == .unchanged && second.notModified == 42 && second.bytes == 0)
      _ = try await server.end(by: SIGTERM)
    }
  }

  private func copyPages(of site: Site) async throws {
    let target = "\(site.upstream.baseURL)/character?page=[1-42]"
    let outcome = try await Program.run(
      try Program.tool("curl"), arguments: ["-sS", "--create-dirs", "-o", "\(site.folder)/pages/#1.json", target])
    try #require(outcome.exit == 0, "\(outcome.error)")
  }

  /// curl retries until the server has started.
  private func answers(_ server: Program, port: Int) async throws {
    let retry = ["-s", "-o", "/dev/null", "--retry-connrefused", "--retry", "10", "--retry-delay", "1"]
    let url = "http://127.0.0.1:\(port)/api/character?page=1"
    let outcome = try await Program.run(try Program.tool("curl"), arguments: retry + [url])
    try #require(outcome.exit == 0, "\(server.complaints)")
  }

  private static func configuration(_ folder: String, port: Int, gzip: String) -> String {
    """
    daemon off; master_process off; pid nginx.pid; error_log stderr;
    events {}
    http {
      client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;
      scgi_temp_path scgi; access_log off; default_type application/json;
      gzip \(gzip); gzip_types application/json;
      server {
        listen 127.0.0.1:\(port);
        location = /api/character { root \(folder)/pages; try_files /$arg_page.json =404; }
      }
    }
    """
  }
}

/// A port on loopback that was free when it was chosen.
private struct FreePort {
  let port: Int
  private let descriptor: CInt

  static func take() throws -> FreePort {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | O_CLOEXEC, 0)  // SOCK_CLOEXEC has that value
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(bound)
    return FreePort(port: Int(UInt16(bigEndian: address.sin_port)), descriptor: descriptor)
  }

  func give() { close(descriptor) }
}
