import RosterDaemon
import RosterDefinition
import RosterTestSupport
import Testing

@Suite("Configuration: ca_file")
struct CAFileCheckTests {
  @Test(
    "53: a ca_file that cannot be used is reported with its line, beside all other faults",
    arguments: [
      ("/nonexistent.pem", "cannot be read: No such file or directory"),
      ("/dev/null", "cannot be used: it holds no certificate that can be read"),
    ])
  func refused(path: String, problem: String) throws {
    let workspace = Workspace()
    let file = try workspace.write("[upstream.tls]\nca_file = \"\(path)\"\n[sync]\nconcurrency = 0\n")
    let error = #expect(throws: ConfigurationFaults.self) {
      try Configuration.loadChecked(file: file, environment: [:], isRoot: true)
    }
    #expect(
      error?.faults.map(\.description) == [
        "\(file):2: upstream.tls.ca_file: \"\(path)\" \(problem); allowed: a readable PEM bundle",
        "\(file):4: sync.concurrency: 0 is out of range; allowed: 1 to 64",
      ])
  }

  @Test("An SSL_CERT_FILE without certificates is a warning if an https address is configured")
  func systemRoots() throws {
    let workspace = Workspace()
    func warnings(_ scheme: String, path: String) throws -> [String] {
      let file = try workspace.write("upstream.base_url = \"\(scheme)://localhost:1\"\n")
      return try Configuration.loadChecked(file: file, environment: ["SSL_CERT_FILE": path], isRoot: true).warnings
    }
    #expect(
      try warnings("https", path: "/nowhere.pem") == [
        "SSL_CERT_FILE is ignored: \"/nowhere.pem\" cannot be read: No such file or directory"
      ])
    #expect(
      try warnings("https", path: "/dev/null") == [
        "SSL_CERT_FILE is ignored: \"/dev/null\" cannot be used: it holds no certificate that can be read"
      ])
    #expect(try warnings("https", path: "").isEmpty)
    #expect(try warnings("http", path: "/nowhere.pem").isEmpty)
  }
}
