import RosterCore
import Testing

@Suite("Facts about rosterd's systemd service")
struct ServiceTests {
  @Test(
    "47: a credential of a service is named by the file that its unit loads",
    arguments: [
      ("/run/credentials/rosterd.service", "/etc/credstore/rosterd.password", "rosterd"),
      ("/run/credentials/rosterd@stage.service/", "/etc/credstore/rosterd.stage.password", "rosterd@stage"),
      ("/run/credentials/rosterd-sync.service", "/etc/credstore/rosterd.password", "rosterd-sync"),
      ("/run/credentials/mine.service", nil, "mine"),
    ])
  func sources(directory: String, source: String?, name: String) throws {
    let service = try #require(ServiceCredentials(directory: directory))
    #expect(service.source(of: "password") == source && service.name == name)
    let advice = service.advice("put a valid password", for: ["password"])
    #expect(advice.hasSuffix(", then systemctl reload-or-restart \(name)"))
    let place = source.map { "into \($0) (encrypted: /etc/credstore.encrypted/" } ?? "LoadCredential= of mine.service"
    #expect(advice.contains(place))
  }

  @Test("A user's own service reads no files of the package, and its manager reloads it")
  func ofUser() throws {
    let service = try #require(ServiceCredentials(directory: "/run/user/1000/credentials/rosterd.service"))
    #expect(service.source(of: "password") == nil)
    #expect(
      service.advice("put a valid password", for: ["password"])
        == "put a valid password where LoadCredential= of rosterd.service names it, then "
        + "systemctl --user reload-or-restart rosterd")
  }

  @Test(
    "47: a folder that systemd did not make belongs to no service",
    arguments: ["", "/etc/rosterd", "/srv/x.service"])
  func folders(directory: String) {
    #expect(ServiceCredentials(directory: directory) == nil)
  }

  @Test("47: the text names the end of the service, and has rosterd's message if rosterd ended by itself")
  func failures() {
    func text(_ result: String, exit: Int32?, status: String) -> String {
      ServiceFailure(unit: "rosterd@stage", at: nil, result: result, exitStatus: exit, status: status).text
    }
    #expect(
      text("exit-code", exit: 78, status: "x.toml:1: bad")
        == "rosterd@stage.service has failed (exit 78): x.toml:1: bad")
    // The last status of a healthy daemon does not explain a failure.
    #expect(text("watchdog", exit: nil, status: "idle") == "rosterd@stage.service has failed (watchdog)")
    #expect(text("exit-code", exit: 203, status: "idle") == "rosterd@stage.service has failed (exit 203)")
    #expect(text("exit-code", exit: 243, status: "").hasSuffix("systemd could not load its credentials (exit 243)"))
  }
}
