import FoundationEssentials
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth
@testable import RosterDaemon
@testable import RosterDefinition

@Suite("Credential files")
struct CredentialsTests {
  let workspace = Workspace()

  @Test("Each file is read without one trailing newline; a missing file is nil")
  func read() throws {
    try workspace.write("rt\n", to: "refresh_token")
    try workspace.write("at\n\n", to: "access_token")
    try workspace.write(" id ", to: "client_id")
    let expected = Credentials(refreshToken: Secret("rt"), accessToken: Secret("at\n"), clientID: Secret(" id "))
    #expect(try Credentials(folder: workspace.folder) == expected)
    try workspace.write("s\r\n", to: "client_secret")
    #expect(try Credentials(folder: workspace.folder).clientSecret == Secret("s"))
    try workspace.write("user", to: "username")
    try workspace.write("\n", to: "password")
    let basic = try Credentials(folder: workspace.folder)
    #expect(basic.username == Secret("user") && basic.password == Secret(""))
    #expect(try Credentials(folder: workspace.path("nowhere")) == Credentials())
    #expect(try Credentials(folder: "") == Credentials())
  }

  @Test("55: a credential of the service or an instance is searched in systemd's stores under the unit's name")
  func missing() throws {
    var configuration = Configuration()
    configuration.auth.flow = .oauth2ClientCredentials
    configuration.path = "/etc/rosterd/stage.toml"
    let stores = ["\(workspace.folder)/plain", "\(workspace.folder)/encrypted"]
    func lacking() -> [String] { configuration.missingCredentials(stores: stores) }
    let head = "auth.flow = \"oauth2_client_credentials\" needs the credential "
    #expect(lacking().map { $0.hasPrefix(head) } == [true, true])
    #expect(lacking()[0].hasPrefix("\(head)client_id, and \(stores[0])/rosterd.stage.client_id does not exist: "))
    for store in stores { try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true) }
    try workspace.write("x", to: "encrypted/rosterd.stage.client_id")
    #expect(lacking().map { $0.contains("client_secret, and \(stores[0])/rosterd.stage.client_secret does") } == [true])
    configuration.path = "/etc/rosterd/rosterd.toml"
    #expect(lacking()[0].contains("\(stores[0])/rosterd.client_id does not exist"))
    configuration.path = "/tmp/rosterd.toml"
    #expect(lacking()[0] == "\(head)client_id, and auth.credentials_dir is not set")
    configuration.auth.flow = .none
    #expect(lacking().isEmpty)
    // One that is there and empty ends the start as well.
    configuration.path = "/etc/rosterd/stage.toml"
    configuration.auth.flow = .oauth2ClientCredentials
    try workspace.write("x", to: "plain/rosterd.stage.client_secret")
    #expect(lacking().isEmpty)
    for nothing in ["", "\n", "\r\n"] {
      try workspace.write(nothing, to: "plain/rosterd.stage.client_secret")
      #expect(lacking().map { $0.contains("\(stores[0])/rosterd.stage.client_secret is empty: write it") } == [true])
    }
    // The message of a sync by hand says how the service gets them.
    let hint = configuration.serviceCredentialHint(stores: stores)
    #expect(hint?.contains("-p LoadCredential=client_id:rosterd.stage.client_id ") == true)
    #expect(hint?.contains("-p LoadCredential=client_secret:rosterd.stage.client_secret, as EXAMPLES") == true)
    #expect(configuration.serviceCredentialHint(stores: [workspace.path("nowhere")]) == nil)
    configuration.auth.flow = .none
    // The stored session replaces the file that began it.
    configuration.auth.flow = .bearerRefresh
    configuration.auth.tokenStore = workspace.path("token.json")
    #expect(lacking().count == 1)
    try workspace.write("{}", to: "token.json")
    #expect(lacking().isEmpty)
  }

  @Test("55: check names the credentials of drop-ins with which systemd would end the start, and looks where they lead")
  func dropIns() throws {
    var configuration = Configuration()
    configuration.auth.flow = .static
    configuration.path = "/etc/rosterd/stage.toml"
    let folders = ["etc", "run"].map(workspace.path)
    let stores = ["plain", "store.encrypted"].map(workspace.path)
    for folder in stores + folders.map({ "\($0)/rosterd@.service.d" }) + ["\(folders[0])/rosterd@stage.service.d"] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    func refused() -> [String] { configuration.refusedCredentials(stores: stores, unitFolders: folders) }
    func missing() -> [String] { configuration.missingCredentials(stores: stores, unitFolders: folders) }
    #expect(refused().isEmpty && missing().map { $0.contains("plain/rosterd.stage.access_token does not") } == [true])
    let key = workspace.path("keys/stage")
    let file = try workspace.write(
      "[Service]\nLoadCredential = access_token:\(workspace.path("keys"))/%i\n", to: "run/rosterd@.service.d/a.conf")
    #expect(
      refused() == [
        "\(file) loads the credential access_token from \(key), which does not exist: "
          + "systemd would end the start of rosterd@stage with 243"
      ])
    #expect(missing().map { $0.contains("\(key) does not exist") } == [true])
    try FileManager.default.createDirectory(atPath: workspace.path("keys"), withIntermediateDirectories: true)
    try workspace.write("t", to: "keys/stage")
    #expect(refused().isEmpty && missing().isEmpty)
    // A file of the same name in a stronger folder replaces the other one, and a later file has the last word.
    try FileManager.default.removeItem(atPath: key)
    let stronger = try workspace.write(
      "LoadCredentialEncrypted=access_token:api\n", to: "etc/rosterd@.service.d/a.conf")
    #expect(refused().isEmpty && missing().map { $0.contains("plain/api does not exist") } == [true])
    try workspace.write("t", to: "plain/api")
    #expect(refused().map { $0.hasPrefix("\(stronger) expects the credential access_token encrypted, and ") } == [true])
    try workspace.write("x", to: "store.encrypted/api")
    #expect(refused().isEmpty)
    try workspace.write("LoadCredential=b:/nowhere/b\n", to: "etc/rosterd@stage.service.d/b.conf")
    #expect(refused().count == 1)
    try workspace.write("LoadCredential=\n", to: "etc/rosterd@stage.service.d/c.conf")
    #expect(refused().isEmpty && missing().map { $0.contains("rosterd.stage.access_token does not") } == [true])
  }

  @Test("55: a relative path, and a link, name the same unit as the absolute path")
  func relativePath() throws {
    let folder = workspace.path("etc")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try workspace.write("", to: "etc/stage.toml")
    let up = String(repeating: "../", count: FileManager.default.currentDirectoryPath.split(separator: "/").count)
    for path in ["\(folder)/stage.toml", "\(up)\(folder.dropFirst())/stage.toml", "\(folder)/../etc/stage.toml"] {
      #expect(Configuration.unit(ofFile: path, in: folder) == "stage", "\(path)")
    }
    #expect(Configuration.unit(ofFile: "stage.toml", in: folder) == nil)
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/other.toml", withDestinationPath: "/tmp/x.toml")
    #expect(Configuration.unit(ofFile: "\(folder)/other.toml", in: folder) == "other")
  }

  @Test("55: the token store replaces a missing token, and neither an empty file nor another credential")
  func stored() throws {
    var configuration = Configuration()
    configuration.auth.flow = .oauth2Refresh
    configuration.auth.credentialsDir = workspace.folder
    configuration.auth.tokenStore = try workspace.write("{}", to: "token.json")
    func lacking() -> [String] { configuration.missingCredentials(stores: []) }
    #expect(lacking().isEmpty)
    configuration.auth.flow = .exchange
    configuration.auth.refresh = TokenExchange.Step(
      url: "https://auth.test/r",
      body: .object([.init("id", .text("{client_id}")), .init("rt", .text("{refresh_token}"))]))
    #expect(lacking().map { $0.contains("client_id does not exist") } == [true])
    configuration.auth.flow = .oauth2Refresh
    try workspace.write("\n", to: "refresh_token")
    #expect(lacking().map { $0.contains("refresh_token is empty: write it") } == [true])
  }

  @Test("39, 55: only a token store of the same server, flow and client replaces a missing token")
  func foreignStore() throws {
    var configuration = Configuration()
    configuration.auth.flow = .oauth2Refresh
    configuration.auth.credentialsDir = workspace.folder
    configuration.auth.tokenStore = workspace.path("token.json")
    func lacks() -> Bool { !configuration.missingCredentials(stores: []).isEmpty }
    func store(_ settings: TokenSettings, client: String? = nil, refresh: String? = "r1") throws {
      let files = Credentials(refreshToken: refresh.map { Secret($0) }, clientID: client.map { Secret($0) })
      let document = StoredSession(Session(settings, credentials: files))
      try JSONEncoder().encode(document).write(to: URL(filePath: configuration.auth.tokenStore))
    }
    let settings = TokenSettings(configuration)
    try store(settings)
    #expect(!lacks())
    for change: (inout TokenSettings) -> Void in [
      { $0.flow = .bearerRefresh }, { $0.baseOrigin = "https://other:443" }, { $0.tokenOrigin = "https://other:443" },
    ] {
      var other = settings
      change(&other)
      try store(other)
      #expect(lacks())
    }
    try store(settings, refresh: nil)
    #expect(lacks())
    try store(settings, client: "id")
    #expect(lacks())
    try workspace.write("id\n", to: "client_id")
    #expect(!lacks())
    // The start is 73, which is no matter of credentials.
    try workspace.write("{}", to: "token.json")
    #expect(!lacks())
  }

  @Test("55: a file of line ends alone is empty, at the start as in the check")
  func lineEnds() throws {
    var configuration = Configuration()
    configuration.auth.flow = .static
    configuration.auth.credentialsDir = workspace.folder
    for text in ["\n\n", "\r\n\r\n\n", "\n\r"] {
      let path = try workspace.write(text, to: "access_token")
      #expect(configuration.missingCredentials(stores: []).map { $0.contains("access_token is empty") } == [true])
      #expect(throws: failure(path, cause: "it is empty", hint: "write the credential into it, or remove it")) {
        try Credentials(folder: workspace.folder)
      }
    }
  }

  @Test("55: an empty password is a credential")
  func emptyPassword() throws {
    var configuration = Configuration()
    configuration.auth.flow = .exchange
    configuration.auth.credentialsDir = workspace.folder
    configuration.auth.login = TokenExchange.Step(
      url: "https://auth.test/l", body: .object([.init("p", .text("{password}"))]))
    #expect(configuration.missingCredentials(stores: []).map { $0.contains("password does not exist") } == [true])
    try workspace.write("\n", to: "password")
    #expect(configuration.missingCredentials(stores: []).isEmpty)
    // Neither a header nor a query can contain it, so that the start is 78.
    configuration.auth.login.send = TokenPlace("X-Pass: {password}")
    #expect(configuration.missingCredentials(stores: []).map { $0.contains("password is empty: write it") } == [true])
    let files = Credentials(password: Secret(""))
    let settings = TokenSettings(configuration)
    let failure = #expect(throws: Failure.self) { try Session.change(from: nil, settings, credentials: files) }
    #expect(failure?.kind == .configuration && failure?.cause.contains("it is empty") == true)
  }

  @Test("A file that exists and cannot be used is named (78), with its reason and without its text")
  func unusable() throws {
    let path = try workspace.write("\n", to: "client_id")
    #expect(throws: failure(path, cause: "it is empty", hint: "write the credential into it, or remove it")) {
      try Credentials(folder: workspace.folder)
    }
    try workspace.write(bytes: [0xFF, 0xFE], to: "client_id")
    #expect(throws: failure(path, cause: "it is not text", hint: "write only the credential into it")) {
      try Credentials(folder: workspace.folder)
    }
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    #expect(throws: failure(path, cause: "Is a directory", hint: "replace it by a file with the credential")) {
      try Credentials(folder: workspace.folder)
    }
    try FileManager.default.removeItem(atPath: path)
    try workspace.write(bytes: [UInt8](repeating: 0x61, count: 64 * 1024 + 1), to: "client_id")
    let hint = "write only the credential into it; at most 65536 bytes are read"
    #expect(throws: failure(path, cause: "File too large", hint: hint)) { try Credentials(folder: workspace.folder) }
  }

  @Test("47: a message names the file that systemd loads, not the copy in the service's folder")
  func service() throws {
    let folder = workspace.path("credentials/rosterd.service")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try workspace.write("\n", to: "credentials/rosterd.service/client_id")
    let failure = #expect(throws: Failure.self) { try Credentials(folder: folder) }
    #expect(failure?.subject == "/etc/credstore/rosterd.client_id" && failure?.cause == "it is empty")
    #expect(failure?.hint?.contains("systemctl reload-or-restart rosterd") == true)
  }

  @Test(
    "Each unit loads every credential file, and each document about credentials names it",
    arguments: [
      "systemd/rosterd.service", "systemd/rosterd@.service", "systemd/examples/rosterd-sync.service",
      "systemd/examples/encrypted-credentials.conf", "man/rosterd.8", "docs/SYSTEMD.md", "docs/CONFIGURATION.md",
      "docs/CREDENTIALS.md",
    ])
  func named(file: String) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let text = try String(contentsOfFile: root.appending(path: file).path, encoding: .utf8)
    for name in CredentialFile.allCases.map(\.rawValue) + ["client_key"] {
      #expect(text.contains(name), "\(name) is missing")
    }
  }

  private func failure(_ path: String, cause: String, hint: String) -> Failure {
    Failure(.configuration, step: "read a credential", subject: path, cause: cause, hint: hint).with(.missingCredential)
  }

  @Test("55: check names the identity of a session that the token store keeps, and no client_id")
  func foreignSession() throws {
    var configuration = Configuration()
    configuration.upstream.baseURL = "http://127.0.0.1:8080/api"
    configuration.auth.tokenURL = "http://127.0.0.1:8080/token"
    configuration.auth.flow = .oauth2Refresh
    configuration.auth.credentialsDir = workspace.folder
    configuration.auth.tokenStore = workspace.path("token.json")
    func note() -> String? { configuration.foreignSession(stores: []) }
    #expect(note() == nil)
    let session = Session(
      TokenSettings(configuration),
      credentials: Credentials(refreshToken: Secret("r1"), clientID: Secret("the-client")))
    try JSONEncoder().encode(StoredSession(session)).write(to: URL(filePath: configuration.auth.tokenStore))
    #expect(
      note()?.contains("has the session of another identity (a client_id instead of none), which is kept") == true)
    try workspace.write("the-client", to: "client_id")
    #expect(note() == nil)
    configuration.upstream.baseURL = "http://localhost:8080/api"
    #expect(note()?.contains("(base_url at http://127.0.0.1:8080 instead of http://localhost:8080)") == true)
    #expect(note()?.contains("the-client") == false)
    configuration.auth.flow = .static
    #expect(note() == nil)
  }

  @Test("36: login finds the client of the service in systemd's stores, and names an encrypted file")
  func loginClient() throws {
    var configuration = Configuration()
    configuration.path = "/etc/rosterd/stage.toml"
    let stores = ["\(workspace.folder)/credstore", "\(workspace.folder)/credstore.encrypted"]
    for store in stores { try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true) }
    #expect(try configuration.clientCredentials(stores: stores) == Credentials())
    try workspace.write("id\n", to: "credstore/rosterd.stage.client_id")
    try workspace.write("s\n", to: "credstore/rosterd.stage.client_secret")
    let client = Credentials(clientID: Secret("id"), clientSecret: Secret("s"))
    #expect(try configuration.clientCredentials(stores: stores) == client)
    #expect(
      configuration.credentialSource(of: "refresh_token", stores: stores)
        == "\(stores[0])/rosterd.stage.refresh_token")
    try FileManager.default.removeItem(atPath: "\(stores[0])/rosterd.stage.client_secret")
    try workspace.write("x", to: "credstore.encrypted/rosterd.stage.client_secret")
    let failure = #expect(throws: Failure.self) { try configuration.clientCredentials(stores: stores) }
    #expect(failure?.subject == "\(stores[1])/rosterd.stage.client_secret")
    #expect(failure?.cause.contains("encrypted") == true)
    configuration.path = "/tmp/rosterd.toml"
    #expect(try configuration.clientCredentials(stores: stores) == Credentials())
  }

  @Test("36: login refuses to write a plain file beside the encrypted one that the unit loads")
  func loginBesideEncrypted() async throws {
    var configuration = Configuration()
    configuration.path = "/etc/rosterd/rosterd.toml"
    configuration.auth.flow = .oauth2Refresh
    configuration.auth.tokenURL = "http://127.0.0.1:9/token"
    configuration.auth.deviceURL = "http://127.0.0.1:9/device"
    let stores = ["\(workspace.folder)/credstore", "\(workspace.folder)/credstore.encrypted"]
    for store in stores { try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: true) }
    try workspace.write("id\n", to: "credstore/rosterd.client_id")
    try workspace.write("x", to: "credstore.encrypted/rosterd.refresh_token")
    let login = LoginProcess(configuration, environment: [:], stores: stores) { _ in }
    let failure = await #expect(throws: Failure.self) { try await login.run(usesDevice: true, output: nil) }
    #expect(failure?.cause == "\(stores[1])/rosterd.refresh_token exists, which a plain file does not replace")
    #expect(failure?.hint?.contains("systemd-creds encrypt --name=refresh_token - \(stores[1])/") == true)
  }
}
