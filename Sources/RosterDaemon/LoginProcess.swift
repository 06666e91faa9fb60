import FoundationEssentials
import Glibc
import RosterAuth
import RosterCore
package import RosterDefinition
import RosterFetch

/// `rosterd login`: gets the first refresh token and writes it as a credential.
package struct LoginProcess: Sendable {
  /// Text on standard output.
  package enum Result: Sendable, Equatable {
    case printed(String)
    /// A sentence for standard error.
    case written(String)
  }

  private let configuration: Configuration
  private let environment: [String: String]
  private let tell: @Sendable (String) -> Void
  private let stores: [String]

  /// - Parameters:
  ///   - tell: prints a line for people.
  ///   - stores: the folders from which systemd loads the credentials of the package's units.
  package init(
    _ configuration: Configuration, environment: [String: String],
    stores: [String] = Configuration.credentialStores, tell: @escaping @Sendable (String) -> Void
  ) {
    self.configuration = configuration
    self.environment = environment
    self.tell = tell
    self.stores = stores
  }

  /// - Parameters:
  ///   - usesDevice: selects the device flow, also if there is a display.
  ///   - port: the port of the redirect address; 0 for a free one.
  ///   - output: path of the file; `-` is standard output, and nil the credential file.
  /// - Throws: a `Failure`; then no file has changed.
  package func run(usesDevice: Bool, port: UInt16 = 0, output: String?) async throws -> Result {
    let usesDevice = usesDevice || !hasDisplay
    let address = try address(usesDevice)
    let path = try output ?? defaultPath()
    if path != Self.standardOutput { try expectWritable(path) }
    let credentials = try configuration.clientCredentials(stores: stores)
    guard credentials.clientID != nil else {
      throw unusable(
        "the credential client_id does not exist",
        hint:
          "put the id that upstream gave into \(configuration.credentialSource(of: "client_id", stores: stores) ?? "the file client_id")"
      )
    }
    let transport = HTTPTransport(try HTTPTransport.Settings(configuration))
    let settings = TokenSettings(configuration)
    let login = Login(settings, credentials: credentials, send: transport.send)
    let token: Secret
    do {
      token =
        usesDevice
        ? try await byDevice(login, address: address)
        : try await byBrowser(login, address: address, port: port, settings: settings, credentials: credentials)
    } catch {
      await transport.shutdown()
      throw error
    }
    await transport.shutdown()
    if path == Self.standardOutput { return .printed(token.reveal() + "\n") }
    try write(token, to: path)
    return .written("wrote \(path)\(advice(path))")
  }

  // MARK: The two ways

  private func byBrowser(
    _ login: Login, address: String, port: UInt16, settings: TokenSettings, credentials: Credentials
  ) async throws -> Secret {
    let receiver = try LoopbackReceiver(port: port)
    let request = AuthorizationRequest(redirect: receiver.address)
    let url = request.address(
      address, clientID: credentials.clientID ?? Secret(""), scope: settings.scope, parameters: settings.parameters)
    let opened = openBrowser(url)
    defer {
      try? opened.file.get().remove()
      withExtendedLifetime(opened.endings) {}
    }
    tell("open this address in a browser on this machine, within 5 minutes:\n\(url)")
    guard let answer = await receiver.answer(within: Self.patience) else { throw login.unanswered }
    guard answer["state"] == request.state else { throw login.foreignState }
    guard let code = answer["code"], !code.isEmpty else {
      throw login.denied(["error", "error_description"].compactMap { answer[$0] })
    }
    return try await login.refreshToken(code: Secret(code), request)
  }

  private func byDevice(_ login: Login, address: String) async throws -> Secret {
    let device = try await login.deviceCode(at: address)
    tell("open \(device.address.printable) in any browser and enter the code \(device.userCode.printable)")
    if let complete = device.completeAddress { tell("or open \(complete.printable)") }
    return try await login.refreshToken(device)
  }

  private static let patience = Duration.seconds(5 * 60)
  private static let standardOutput = "-"

  private var hasDisplay: Bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
  }

  /// The address has the state of this login, and all users see the command line of a browser.
  private func openBrowser(_ url: String) -> AddressFile.Watched {
    let opened = AddressFile.watched(url, environment: environment, exitAfterInterrupt: nil)
    if let file = try? opened.file.get(), file.openBrowser() != 0 { file.remove() }
    return opened
  }

  // MARK: The configuration

  /// The address that the way needs.
  private func address(_ usesDevice: Bool) throws(Failure) -> String {
    guard configuration.auth.flow.hasUserLogin else {
      throw unusable(
        "auth.flow is \"\(configuration.auth.flow.rawValue)\"", hint: "set auth.flow = \"oauth2_refresh\" in [auth]")
    }
    guard configuration.resolvedTokenURL != nil else {
      throw unusable("auth.token_url is not set", hint: "set it to upstream's token endpoint")
    }
    if usesDevice {
      guard let url = configuration.resolvedDeviceURL else {
        throw unusable(
          "auth.device_url is not set, and \(hasDisplay ? "--device needs it" : "there is no display for a browser")",
          hint:
            "set auth.device_url to upstream's device authorization endpoint, or run rosterd login where a browser is")
      }
      return url
    }
    guard let url = configuration.resolvedAuthorizeURL else {
      throw unusable(
        "auth.authorize_url is not set", hint: "set it to upstream's authorization endpoint, or use --device")
    }
    return url
  }

  private func unusable(_ cause: String, hint: String) -> Failure {
    Failure(
      .configuration, step: "log in", subject: configuration.path ?? "the configuration", cause: cause, hint: hint)
  }

  // MARK: The file

  private var service: ServiceCredentials? { ServiceCredentials(directory: configuration.auth.credentialsDir) }

  /// The file that the daemon reads, or the one that systemd copies.
  private func defaultPath() throws(Failure) -> String {
    let name = "refresh_token"
    if let path = service?.source(of: name) { return path }
    // The unit loads the encrypted file, and ignores another one.
    if let path = configuration.encryptedSource(of: name, stores: stores) {
      throw unusable(
        "\(path) exists, which a plain file does not replace",
        hint: "remove it, or replace it: rosterd login --output - | systemd-creds encrypt --name=\(name) - \(path)")
    }
    if let path = configuration.credentialSource(of: name, stores: stores) { return path }
    throw unusable("auth.credentials_dir is not set", hint: "set it, or name a file with --output")
  }

  private func expectWritable(_ path: String) throws(Failure) {
    guard access(parentFolder(of: path), W_OK | X_OK) == 0 else { throw unwritable(path, cause: SystemError.last.text) }
    // Checked before the user confirms anything: upstream gives a refresh token once.
    if let status = fileStatus(path), status.st_mode & S_IFMT == S_IFDIR {
      throw unwritable(path, cause: SystemError(code: EISDIR).text)
    }
  }

  private func write(_ token: Secret, to path: String) throws(Failure) {
    let file = WholeFile(path, mode: 0o600, isUsers: true)
    do throws(FileError) { try file.replace(with: Array((token.reveal() + "\n").utf8)) } catch {
      throw unwritable(path, cause: error.error.text)
    }
  }

  private func unwritable(_ path: String, cause: String) -> Failure {
    Failure(
      .cannotWrite, step: "write the refresh token", subject: path, cause: cause,
      hint: "run it as a user who may write there, or name another file with --output")
  }

  /// Systemd hands a changed credential to a running service at a reload.
  private func advice(_ path: String) -> String {
    if stores.contains(parentFolder(of: path)) {
      return "; systemd copies it: systemctl reload-or-restart \(configuration.unitName ?? "rosterd")"
    }
    return path.hasPrefix("\(configuration.auth.credentialsDir)/") && !configuration.auth.credentialsDir.isEmpty
      ? "; a running rosterd takes it before its next sync" : ""
  }
}
