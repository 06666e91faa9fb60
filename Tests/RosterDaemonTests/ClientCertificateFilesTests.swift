import FoundationEssentials
import Glibc
import RosterDefinition
import RosterTestSupport
import Testing

@testable import RosterDaemon

@Suite("Configuration: the files of a client certificate")
struct ClientCertificateFilesTests {
  let workspace = Workspace()

  private func faults(_ text: String) throws -> [String] {
    let file = try workspace.write(text)
    do throws(ConfigurationFaults) {
      _ = try Configuration.loadChecked(file: file, environment: [:], isRoot: true)
      return []
    } catch {
      return error.faults.map { $0.description.replacing("\(workspace.folder)/", with: "") }
    }
  }

  @Test("53: a certificate needs one key, both files are read at start, and base_url is https")
  func pairs() throws {
    let certificate = try workspace.write("x", to: "c.pem")
    let key = try workspace.write("x", to: "k.pem")
    chmod(key, 0o600)
    let credential = try workspace.write("x", to: "client_key")
    chmod(credential, 0o600)
    let tables = "[upstream.tls]\ncert_file = '\(certificate)'\n"
    let folder = "[auth]\ncredentials_dir = '\(workspace.folder)'"
    let cases = [
      (tables, "rosterd.toml:2: upstream.tls.cert_file: a cert_file needs a key_file or the credential client_key"),
      (folder, "upstream.tls.cert_file: the credential client_key needs a cert_file"),
      ("upstream.tls.key_file = '\(key)'", "rosterd.toml:1: upstream.tls.key_file: needs cert_file"),
      ("\(tables)key_file = '\(key)'\n\(folder)", "rosterd.toml:3: upstream.tls.key_file: there are both"),
      ("\(tables)key_file = '/none'", "rosterd.toml:3: upstream.tls.key_file: \"/none\" cannot be read"),
      ("\(tables)key_file = '\(key)'", "rosterd.toml:2: upstream.tls.cert_file: \"c.pem\" holds no certificate"),
      (
        "[upstream]\nbase_url = 'http://h'\ntls = { cert_file = '\(certificate)', key_file = '\(key)' }",
        "rosterd.toml:3: upstream.tls.cert_file: an http base_url has no TLS"
      ),
    ]
    for (text, sentence) in cases {
      let faults = try faults(text)
      #expect(faults.contains { $0.hasPrefix(sentence) }, "\(faults)")
    }
  }

  @Test("53: a key_file that other users can read is refused")
  func openKey() throws {
    let certificate = try workspace.write("x", to: "c.pem")
    let key = try workspace.write("x", to: "k.pem")
    chmod(key, 0o644)
    let faults = try faults("[upstream.tls]\ncert_file = '\(certificate)'\nkey_file = '\(key)'")
    #expect(faults.count == 1 && faults[0].contains("can be read by other users"), "\(faults)")
  }
}
