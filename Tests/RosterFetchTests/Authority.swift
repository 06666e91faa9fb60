import FoundationEssentials
import Testing

/// Certificates made with the `openssl` tool, in a folder of their own, and servers that use them.
struct Authority {
  let folder: String

  /// - Parameter script: makes the files; by default those that most tests need.
  static func with(_ script: String = make, body: (Authority) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await Command.finish("cd '\(folder.path)' && \(script)")
    try await body(Authority(folder: folder.path))
  }

  func file(_ name: String) -> String { "\(folder)/\(name)" }

  func pin(of certificate: String) throws -> String {
    try String(contentsOfFile: file("\(certificate).pin"), encoding: .utf8).split(separator: "\n").joined()
  }

  /// - Parameter mode: `-HTTP` answers with files that contain complete responses. Without it the server answers
  ///   nothing, and prints the received bytes.
  func serve(_ certificate: String, mode: String = "-HTTP", body: (Command, Int) async throws -> Void) async throws {
    let options = "-accept 127.0.0.1:0 -cert \(certificate).pem -key \(certificate).key \(mode)"
    try await Command.run("cd '\(folder)' && exec openssl s_server \(options)") { server in
      let greeting = try await server.said("ACCEPT 127.0.0.1:")
      let port = greeting.split(separator: "ACCEPT 127.0.0.1:").last.flatMap { Int($0.prefix { $0.isNumber }) }
      try await body(server, try #require(port))
    }
  }

  static let make = #"""
    set -e
    key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
    openssl req -x509 $key -keyout ca.key -out ca.pem -days 2 -subj '/CN=An authority'
    openssl req -x509 $key -keyout self.key -out self.pem -days 2 -subj /CN=self -addext subjectAltName=IP:127.0.0.1
    signed() {
      openssl req $key -keyout $1.key -out $1.csr -subj /CN=$1
      echo "subjectAltName=$2" > $1.ext
      openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days $3 -extfile $1.ext -out $1.pem
      openssl x509 -in $1.pem -pubkey -noout | openssl pkey -pubin -outform der \
        | openssl dgst -sha256 -binary | openssl base64 | sed s,^,sha256/, > $1.pin
    }
    signed good IP:127.0.0.1,DNS:localhost 2
    signed expired IP:127.0.0.1 -1
    signed elsewhere DNS:elsewhere.example 2
    signed wildcard IP:127.0.0.1,DNS:*.wild.invalid 2
    printf 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}' > page
    """#
}
