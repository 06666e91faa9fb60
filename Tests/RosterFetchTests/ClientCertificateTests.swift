import FoundationEssentials
import RosterCore
import Testing

@testable import RosterFetch

@Suite("37: a client certificate")
struct ClientCertificateTests {
  private static let make =
    Authority.make + #"""

      signed client DNS:client 2
      openssl req -x509 $key -keyout stranger.key -out stranger.pem -days 2 -subj /CN=stranger
      openssl pkey -in client.key -aes256 -passout pass:geheim -out encrypted.key
      openssl req $key -keyout lapsed.key -out lapsed.csr -subj /CN=lapsed
      openssl x509 -req -in lapsed.csr -CA ca.pem -CAkey ca.key -days -1 -out lapsed.pem
      """#

  private func certificate(
    _ authority: Authority, chain: String, key: String
  ) throws -> ClientCertificate {
    let bytes = { (name: String) in Array(try Data(contentsOf: URL(filePath: authority.file(name)))) }
    return try ClientCertificate(chain: try bytes(chain), key: try bytes(key))
  }

  private func fault(
    _ authority: Authority, port: Int, name: String?, for origin: Int? = nil
  ) async throws -> Failure? {
    let origins = Set([Origin(url: "https://localhost:\(origin ?? port)")].compactMap { $0 })
    let identity = try name.map {
      ClientIdentity(try certificate(authority, chain: "\($0).pem", key: "\($0).key"), origins: origins)
    }
    let transport = HTTPTransport(
      .init(roots: .bundle(try CABundle(path: authority.file("ca.pem"))), identity: identity))
    var fault: Failure?
    do {
      _ = try await transport.send(Request(.get, "https://localhost:\(port)/page"))
    } catch { fault = error as? Failure }
    await transport.shutdown()
    return fault
  }

  @Test("53: what is no pair in PEM has a reason of its own")
  func flaws() async throws {
    try await Authority.with(Self.make) { authority in
      #expect(throws: ClientCertificate.Flaw.noCertificate) {
        try certificate(authority, chain: "client.key", key: "client.key")
      }
      #expect(throws: ClientCertificate.Flaw.noKey) {
        try certificate(authority, chain: "client.pem", key: "client.pem")
      }
      #expect(throws: ClientCertificate.Flaw.encryptedKey) {
        try certificate(authority, chain: "client.pem", key: "encrypted.key")
      }
      #expect(throws: ClientCertificate.Flaw.mismatch) {
        try certificate(authority, chain: "client.pem", key: "good.key")
      }
      let end = try certificate(authority, chain: "client.pem", key: "client.key").notAfter.timeIntervalSinceNow
      #expect((86_400...172_800).contains(end))
    }
  }

  @Test("53: a weak key or signature is refused by the name of its certificate, and the signature of a root is not")
  func weak() async throws {
    try await Authority.with(Self.makeWeak) { authority in
      for (chain, cause) in [
        ("short", "\"short\" has an RSA key of only 1024 bits"), ("broken", "\"broken\" is signed with SHA-1"),
        ("self", "\"self\" is signed with SHA-1"), ("pss", "\"pss\" is signed with SHA-1"),
        ("chain", "\"middle\" is signed with SHA-1"),
      ] {
        let flaw = #expect(throws: ClientCertificate.Flaw.self) {
          try certificate(authority, chain: "\(chain).pem", key: "\(chain).key")
        }
        #expect(flaw == .weak("the certificate \(cause)"))
      }
      #expect(throws: Never.self) { try certificate(authority, chain: "rooted.pem", key: "sound.key") }
      #expect(throws: Never.self) { try certificate(authority, chain: "pss256.pem", key: "pss256.key") }
    }
  }

  private static let makeWeak = #"""
    set -e
    ec='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    openssl req -x509 $ec -sha1 -keyout root.key -out root.pem -days 2 -subj /CN=root
    openssl req -x509 $ec -sha1 -keyout self.key -out self.pem -days 2 -subj /CN=self
    signed() {
      openssl req $2 -keyout $1.key -out $1.csr -subj /CN=$1
      openssl x509 -req -in $1.csr -CA root.pem -CAkey root.key -CAcreateserial -days 2 -out $1.pem $3
    }
    signed short '-newkey rsa:1024 -nodes' -sha256; signed broken "$ec" -sha1; signed middle "$ec" -sha1
    signed sound '-newkey rsa:2048 -nodes' -sha256
    pss() {
      openssl req -x509 -newkey rsa:2048 -nodes -keyout $1.key -out $1.pem -days 2 -subj /CN=$1 $2 \
        -sigopt rsa_padding_mode:pss
    }
    pss pss -sha1; pss pss256 -sha256
    cat sound.pem root.pem > rooted.pem
    cat sound.pem middle.pem > chain.pem; cp sound.key chain.key
    """#

  @Test(
    "47: an alert about the client's certificate is 77, is not retried, and has a cause of its own",
    arguments: ["tls1_2", "tls1_3"])
  func alerts(version: String) async throws {
    try await Authority.with(Self.make) { authority in
      let mode = "-HTTP -\(version) -CAfile ca.pem -Verify 1 -verify_return_error"
      try await authority.serve("good", mode: mode) { _, port in
        #expect(try await fault(authority, port: port, name: "client") == nil)
        let refusals = [
          (nil, "requires a client certificate"), ("stranger", "does not trust the authority"),
          ("lapsed", "has expired"),
        ]
        for (name, cause) in refusals as [(String?, String)] {
          let fault = try #require(try await fault(authority, port: port, name: name))
          #expect(fault.kind == .refused && fault.reason == .clientCertificate, "\(fault)")
          #expect(fault.cause.contains(cause), "\(fault)")
          let decision = RetryTable(RetryDelays()).decide(fault, attempt: 1, malformed: 0, random: 0)
          #expect(decision == .giveUp)
        }
      }
    }
  }

  @Test(
    "47: nginx's 400 about a client certificate is one, and no other answer",
    arguments: [
      (400, "<title>400 No required SSL certificate was sent</title>", "the server requires a client certificate"),
      (400, "<title>400 The SSL certificate error</title>", "the server refuses the client certificate"),
      (400, "<title>400 Bad Request</title>", nil), (403, "400 No required SSL certificate was sent", nil),
    ] as [(Int, String, String?)])
  func nginx(status: Int, body: String, cause: String?) {
    let alert = Failure(clientCertificate: Response(status: status, headers: [], body: Array("<html>\(body)".utf8)))
    #expect(alert?.cause == cause)
    #expect(alert.map { $0.kind == .refused && $0.reason == .clientCertificate } ?? (cause == nil))
  }

  @Test("47: handshake_failure is one only if the server had requested a certificate")
  func otherFailure() async throws {
    try await Authority.with(Self.make) { authority in
      // A cipher that this client does not have.
      try await authority.serve("good", mode: "-HTTP -tls1_2 -cipher AES256-SHA256") { _, port in
        let fault = try #require(try await fault(authority, port: port, name: "client"))
        #expect(fault.reason == .tls)
      }
    }
  }

  @Test("39: it is presented to its origins only")
  func otherOrigin() async throws {
    try await Authority.with(Self.make) { authority in
      try await authority.serve("good", mode: "-HTTP -CAfile ca.pem -Verify 1 -verify_return_error") { _, port in
        let fault = try await fault(authority, port: port, name: "client", for: port - 1)
        #expect(fault?.cause == "the server requires a client certificate")
      }
    }
  }
}
