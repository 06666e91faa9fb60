import FoundationEssentials
import RosterCore
import Testing

@testable import RosterFetch

/// A certificate, the chain that the server sends, the trusted roots, and words of the message.
private struct Refusal: CustomTestStringConvertible {
  let certificate: String
  var sent = ""
  var trusted = "root.pem"
  let words: String

  var testDescription: String { "\(certificate)\(sent), \(trusted)" }
}

/// The messages about each refused chain, tested with `openssl s_server`.
@Suite struct CertificateTests {
  private static let withIntermediate = " -cert_chain inter.pem"

  private static let refusals = [
    Refusal(certificate: "rsa1024", words: "\"rsa1024\" has an RSA key of only 1024 bits"),
    Refusal(
      certificate: "below-rsa1024", sent: " -cert_chain small.pem", words: "\"small\" has an RSA key of only 1024"),
    Refusal(certificate: "sha1", words: "\"sha1\" is signed with SHA-1"),
    Refusal(certificate: "below-sha1", sent: " -cert_chain old.pem", words: "\"old\" is signed with SHA-1"),
    Refusal(certificate: "client", words: "vouches for the certificate \"client\", which \"root\" has signed"),
    Refusal(certificate: "signer", words: "the server's certificate could not be verified"),
    Refusal(
      certificate: "constrained", sent: " -cert_chain narrow.pem",
      words: "an authority of the certificate \"constrained\" may not sign for its names"),
    Refusal(certificate: "below", words: "vouches for the certificate \"below\", which \"inter\" has signed"),
    Refusal(
      certificate: "below", sent: withIntermediate, trusted: "other.pem",
      words: "vouches for the certificate \"inter\", which \"root\" has signed"),
    Refusal(
      certificate: "below", trusted: "inter.pem",
      words: "vouches for the certificate \"inter\", which \"root\" has signed"),
    Refusal(
      certificate: "below", sent: " -cert_chain chain.pem", trusted: "other.pem",
      words: "the certificate \"root\" is self-signed"),
    Refusal(
      certificate: "below-plain", sent: " -cert_chain plain.pem", words: "vouches for the certificate \"plain\""),
    Refusal(
      certificate: "below-last", sent: " -cert_chain last-chain.pem", words: "vouches for the certificate"),
    Refusal(certificate: "odd", words: "vouches for the certificate \"odd\""),
    Refusal(
      certificate: "below-odd", sent: " -cert_chain odd-inter.pem", words: "vouches for the certificate \"odd-inter\""),
    Refusal(
      certificate: "below-silent", sent: " -cert_chain silent.pem", words: "which \"silent\" has signed"),
    Refusal(certificate: "forged", words: "the signature of the certificate \"forged\" is wrong"),
    Refusal(certificate: "future", words: "\"future\" is not valid before 2090-01-01T00:00:00.000Z"),
    Refusal(certificate: "unnamed", words: "names no host: it has no subjectAltName"),
  ]

  @Test("24: each reason to refuse a certificate has its own message, and nothing is retried")
  func refused() async throws {
    try await Authority.with(Self.make) { authority in
      for refusal in Self.refusals {
        let mode = "-HTTP -cipher ALL:@SECLEVEL=0\(refusal.sent)"
        try await authority.serve(refusal.certificate, mode: mode) { _, port in
          let fault = await fault(port, roots: .bundle(try CABundle(path: authority.file(refusal.trusted))))
          let cause = fault?.cause ?? ""
          #expect(cause.contains(refusal.words), "\(refusal.testDescription): \(cause)")
          #expect(fault?.trouble == .certificate && fault?.reason == nil)
          if refusal.words.hasSuffix("\"root\" has signed") {
            #expect(fault?.hint?.contains("name the root certificate of \"root\"") == true)
          }
        }
      }
    }
  }

  @Test("A root that signed itself with SHA-1 is trusted, and so is a chain with an intermediate certificate")
  func trusted() async throws {
    try await Authority.with(Self.make) { authority in
      for (certificate, sent, trusted) in [
        ("below", Self.withIntermediate, "root.pem"), ("below-sha1-root", "", "sha1-root.pem"),
      ] {
        try await authority.serve(certificate, mode: "-HTTP\(sent)") { _, port in
          let fault = await fault(port, roots: .bundle(try CABundle(path: authority.file(trusted))))
          #expect(fault == nil, "\(certificate): \(String(describing: fault))")
        }
      }
    }
  }

  @Test("SSL_CERT_FILE and SSL_CERT_DIR name the system's roots, and a replaced file makes other roots")
  func systemRoots() async throws {
    try await Authority.with(Self.make) { authority in
      let (file, folder) = (authority.file("system.pem"), authority.file("hashed"))
      func fault(_ port: Int, environment: [String: String]) async -> Failure? {
        await self.fault(port, roots: .system(SystemRoots(RootPlaces(environment: environment))))
      }
      try await authority.serve("below", mode: "-HTTP\(Self.withIntermediate)") { _, port in
        #expect(await fault(port, environment: ["SSL_CERT_FILE": file]) == nil)
        #expect(await fault(port, environment: ["SSL_CERT_FILE": "/nowhere", "SSL_CERT_DIR": folder]) == nil)
        #expect(await fault(port, environment: ["SSL_CERT_DIR": "/nowhere:/tmp:\(folder)"]) == nil)
        for environment in [[:], ["SSL_CERT_FILE": ""], ["SSL_CERT_FILE": "/nowhere", "SSL_CERT_DIR": "/nowhere"]] {
          #expect(await fault(port, environment: environment)?.cause.contains("which \"root\" has signed") == true)
        }
      }
      let places = RootPlaces(environment: ["SSL_CERT_FILE": file])
      let before = SystemRoots(places)
      #expect(SystemRoots(places) == before)
      try await Command.finish("cp '\(file)' '\(file).new' && mv '\(file).new' '\(file)'")
      #expect(SystemRoots(places) != before)
    }
  }

  private func fault(_ port: Int, roots: TrustedRoots) async -> Failure? {
    let transport = HTTPTransport(.init(roots: roots))
    var fault: Failure?
    do { _ = try await transport.send(Request(.get, "https://127.0.0.1:\(port)/page")) } catch {
      fault = error as? Failure
    }
    await transport.shutdown()
    return fault
  }

  private static let make = #"""
    set -e
    ec='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    small='-newkey rsa:1024 -nodes'
    authority='basicConstraints=critical,CA:TRUE'
    server='subjectAltName=IP:127.0.0.1'
    root() { openssl req -x509 $ec -keyout $1.key -out $1.pem -days 2 -subj /CN=$1 $2; }
    # NAME ISSUER KEY EXTENSIONS OPTIONS
    signed() {
      openssl req $3 -keyout $1.key -out $1.csr -subj /CN=$1
      printf "$4\n" > $1.ext
      openssl x509 -req -in $1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days 2 -extfile $1.ext -out $1.pem $5
    }
    root root; root other; root sha1-root -sha1
    signed inter root "$ec" "$authority"; signed below inter "$ec" "$server"
    signed small root "$small" "$authority"; signed below-rsa1024 small "$ec" "$server"
    signed old root "$ec" "$authority" -sha1; signed below-sha1 old "$ec" "$server"
    signed rsa1024 root "$small" "$server"; signed sha1 root "$ec" "$server" -sha1
    signed below-sha1-root sha1-root "$ec" "$server"
    signed client root "$ec" "$server\nextendedKeyUsage=clientAuth"
    signed signer root "$ec" "$server\nkeyUsage=critical,keyCertSign"
    signed narrow root "$ec" "$authority\nnameConstraints=critical,permitted;IP:10.0.0.0/255.0.0.0"
    signed constrained narrow "$ec" "$server"
    signed unnamed root "$ec" basicConstraints=CA:FALSE
    signed plain root "$ec" basicConstraints=CA:FALSE; signed below-plain plain "$ec" "$server"
    signed last root "$ec" "$authority,pathlen:0"; signed under-last last "$ec" "$authority"
    signed below-last under-last "$ec" "$server"; cat under-last.pem last.pem > last-chain.pem
    odd='1.2.3.4=critical,DER:0500'
    signed odd root "$ec" "$server\n$odd"
    signed odd-inter root "$ec" "$authority\n$odd"; signed below-odd odd-inter "$ec" "$server"
    signed silent root "$ec" "$authority\nkeyUsage=critical,digitalSignature"; signed below-silent silent "$ec" "$server"
    # An authority of the same name and another key.
    openssl req -x509 $ec -keyout false.key -out false.pem -days 2 -subj /CN=root
    signed forged false "$ec" "$server\nauthorityKeyIdentifier=none"
    # x509 of OpenSSL 3.0 sets no start.
    printf '[ca]\ndefault_ca=a\n[a]\ndatabase=index\nserial=number\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' > ca.cnf
    touch index
    openssl req $ec -keyout future.key -out future.csr -subj /CN=future
    echo "$server" > future.ext
    openssl ca -batch -config ca.cnf -rand_serial -in future.csr -cert root.pem -keyfile root.key -notext \
      -startdate 20900101000000Z -enddate 20910101000000Z -extfile future.ext -out future.pem
    cat inter.pem root.pem > chain.pem
    mkdir hashed
    cp root.pem hashed
    openssl rehash hashed
    cp root.pem system.pem
    printf 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}' > page
    """#
}
