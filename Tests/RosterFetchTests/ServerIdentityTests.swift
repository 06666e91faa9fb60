import RosterCore
import RosterTestSupport
import Testing

@testable import RosterFetch

/// The subjectAltName of a certificate, with accepted and refused hosts.
private struct Names {
  let alternatives: String
  var accepted: [String] = []
  var refused: [String] = []
}

@Suite struct ServerIdentityTests {
  private static let all = [
    Names(
      alternatives: "DNS:api.example.test", accepted: ["api.example.test", "API.Example.test", "api.example.test."],
      refused: ["example.test", "x.api.example.test", "api.example.tes", "127.0.0.1"]),
    Names(
      alternatives: "DNS:*.EXAMPLE.test",
      accepted: ["api.example.test", "my_host.example.test", "xn--bcher-kva.example.test", "api.example.test."],
      refused: ["example.test", "a.b.example.test", ".example.test"]),
    Names(alternatives: "DNS:my_host.example.test", accepted: ["my_host.example.test"]),
    Names(alternatives: "DNS:a*.example.test", refused: ["api.example.test", "a.example.test"]),
    Names(alternatives: "DNS:*a.example.test,DNS:x.*.test", refused: ["a.example.test", "x.example.test"]),
    Names(alternatives: "DNS:*.test", refused: ["example.test"]),
    Names(alternatives: "DNS:*", refused: ["localhost"]),
    Names(alternatives: "DNS:localhost,IP:127.0.0.1", accepted: ["localhost", "127.0.0.1"], refused: ["127.0.0.2"]),
    Names(alternatives: "IP:::1", accepted: ["[::1]", "[0:0::1]"], refused: ["[::2]", "localhost"]),
    Names(alternatives: "DNS:127.0.0.1,DNS:*.0.0.1", refused: ["127.0.0.1"]),
    Names(alternatives: "email:root@api.example.test", refused: ["api.example.test"]),
    Names(alternatives: "", refused: ["api.example.test"]),
  ]

  @Test("A certificate is for the hosts and addresses of its subjectAltName only (RFC 9525)")
  func names() async throws {
    let make = Self.all.enumerated().map { index, names in
      let alternatives = names.alternatives.isEmpty ? "" : "-addext 'subjectAltName=\(names.alternatives)'"
      return
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out \(index).pem -subj /CN=api.example.test \(alternatives)"
    }
    try await Authority.with(make.joined(separator: " && ")) { authority in
      for (index, names) in Self.all.enumerated() {
        let certificate = try #require(try CABundle(path: authority.file("\(index).pem")).certificates.first)
        for (hosts, isAccepted) in [(names.accepted, true), (names.refused, false)] {
          for host in hosts {
            let identity = ServerIdentity(try #require(Origin(url: "https://\(host)/")))
            let isNamed = (try? identity.verify(certificate)) != nil
            #expect(isNamed == isAccepted, "\(names.alternatives): \(host)")
          }
        }
      }
    }
  }

  @Test("The message names the first hosts of the certificate")
  func message() {
    let fault = Failure.otherHost("localhost", named: ["a.test", "b.test"])
    #expect(fault.cause == "the server's certificate is for another host: it names a.test, b.test, not localhost")
  }

  @Test("SNI has no trailing dot")
  func serverName() async throws {
    #expect(Origin(url: "https://localhost./")?.serverName == "localhost")
    #expect(Origin(url: "https://127.0.0.1/")?.serverName == nil)
    try await Authority.with { authority in
      try await authority.serve("good", mode: "-HTTP -tlsextdebug") { server, port in
        try await ForwardProxy.run { proxy in
          proxy.configure { $0.target = port }
          let proxies = ProxyRules(https: ProxyServer(host: "127.0.0.1", port: proxy.port, setting: "upstream.proxy"))
          let roots = TrustedRoots.bundle(try CABundle(path: authority.file("ca.pem")))
          let transport = HTTPTransport(.init(roots: roots, proxies: proxies))
          #expect(try await transport.send(Request(.get, "https://localhost./page")).status == 200)
          // The list's length, the type, the name's length and nine letters.
          _ = try await server.said("\"server name\" (id=0), len=14")
          await transport.shutdown()
        }
      }
    }
  }
}
