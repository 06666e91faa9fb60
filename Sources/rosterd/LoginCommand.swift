import ArgumentParser
import FoundationEssentials
import RosterDaemon

struct LoginCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login",
    abstract: "Gets the first refresh token of an OAuth 2 API and writes it as a credential.",
    discussion:
      "Needs auth.flow = \"oauth2_refresh\", the credential client_id, and auth.authorize_url or auth.device_url.")

  @OptionGroup var options: ConfigurationOption

  @Flag(name: .customLong("device"), help: "Print a code to enter in a browser on another machine.")
  var device = false

  @Option(
    name: .customLong("port"),
    help: "The port of the redirect address http://127.0.0.1:PORT/, for a provider that compares it.")
  var port: UInt16 = 0

  @Option(
    name: .customLong("output"), help: "The file to write; -: standard output.", completion: .file())
  var output: String?

  func run() async throws {
    let configuration = try options.load(isLogging: false)
    try await exiting {
      let login = LoginProcess(configuration, environment: ProcessInfo.processInfo.environment) { say("\($0)\n") }
      switch try await login.run(usesDevice: device, port: port, output: output) {
      case .printed(let text): try answer(text)
      case .written(let sentence): say("rosterd: \(sentence)\n")
      }
    }
  }
}
