import FoundationEssentials
import RosterCore
import RosterDecode
import Testing

/// `auth.send` as a list: several secrets in each request.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SeveralSecretsTests {
  private static let toml = """
    [auth]
    flow = "static"
    send = [
      "X-Account: {client_id}", "?app_key={client_secret}", "/auth/key=k:{access_token}", "Authorization: Basic {basic}",
    ]
    [resource.thing]
    path = "/things"
    method = "POST"
    body = { auth = { version = 2 }, page = 1 }
    pages = { style = "number", param = "/page" }
    columns = { id = { at = "/id", type = "integer" } }
    [resource.note]
    path = "/notes"
    pages = { style = "one" }
    columns = { id = { at = "/id", type = "integer" } }
    """
  private static let secrets = [
    "client_id": "acc0unt-7f3a", "client_secret": "appk3y-99x1", "access_token": "t0ken-5d2c", "username": "us3r-aa01",
    "password": "pa55-bb02",
  ]

  private static func answer(_ secrets: [String: String]) -> OwnAPI.Answer {
    { call in
      let pair = Data("\(secrets["username"] ?? ""):\(secrets["password"] ?? "")".utf8).base64EncodedString()
      guard call["X-Account"] == secrets["client_id"], call.parameter("app_key") == secrets["client_secret"],
        call["Authorization"] == "Basic \(pair)"
      else { throw Refusal(status: 401, why: "a secret is wrong") }
      if call.path == "/notes" { return .list(ids: [7]) }
      guard call.body["auth"]?["key"]?.text == "k:\(secrets["access_token"] ?? "")",
        call.body["auth"]?["version"] == .number("2")
      else { throw Refusal(status: 401, why: "the key in the body is wrong") }
      return .list(ids: call.body["page"] == .number("1") ? [1, 2] : [])
    }
  }

  @Test("36, 38: each place carries its secret, in a POST also a member of the body, and no output has one")
  func carries() async throws {
    try await withReach(Self.toml, answer: Self.answer(Self.secrets)) { reach in
      try reach.writeCredentials(Self.secrets)
      var reach = reach
      reach.site.settings["ROSTERD_LOG_LEVEL"] = "trace"
      let outcome = try await reach.run("sync", "--json")
      #expect(outcome.exit == 0, "\(outcome.error)")
      #expect(try await reach.column("SELECT id FROM thing ORDER BY id") == ["1", "2"])
      #expect(try await reach.column("SELECT id FROM note") == ["7"])
      #expect(try await reach.sync().outcome == .unchanged)
      let check = try await reach.run("check")
      #expect(check.exit == 0 && check.output.contains("\"/auth/key=k:{access_token}\""), "\(check.error)")
      var shown = outcome.error + outcome.output + check.output + check.error
      for name in ["roster.db", "roster.db-wal", "roster.db.next"] {
        let file = FileManager.default.contents(atPath: "\(reach.site.folder)/state/\(name)") ?? Data()
        shown += String(decoding: file, as: UTF8.self)
      }
      for secret in Self.secrets.values { #expect(!shown.contains(secret), "\(secret)") }
    }
  }

  @Test("36: each named file is required: without it the sync is 78 before any request", arguments: secrets.keys)
  func requires(_ name: String) async throws {
    try await withReach(Self.toml, answer: Self.answer(Self.secrets)) { reach in
      try reach.writeCredentials(Self.secrets.filter { $0.key != name })
      let outcome = try await reach.run("sync")
      #expect(outcome.exit == 78 && outcome.error.contains("\(reach.site.folder)/\(name)"), "\(outcome.error)")
      #expect(reach.api.take().isEmpty)
      let check = try await reach.run("check")
      #expect(check.exit == 0 && check.error.contains("needs the credential \(name)"), "\(check.error)")
    }
  }

  @Test("36, 38: a refused secret is 77 and names all files, and a message that repeats secrets is masked")
  func refused() async throws {
    try await withReach(Self.toml, answer: Self.answer(Self.secrets)) { reach in
      try reach.writeCredentials(Self.secrets)
      try reach.writeCredential("client_secret", "0ld-appkey-1")
      reach.api.become { call in
        throw Refusal(status: 401, why: "no \(call.parameter("app_key") ?? "") \(call["X-Account"] ?? "")")
      }
      let outcome = try await reach.run("sync")
      #expect(outcome.exit == 77, "\(outcome.error)")
      for name in Self.secrets.keys { #expect(outcome.error.contains(name), "\(outcome.error)") }
      for secret in Array(Self.secrets.values) + ["0ld-appkey-1"] { #expect(!outcome.error.contains(secret)) }
    }
  }

  @Test(
    "35: a running daemon uses changed bytes of each file in its next sync",
    arguments: secrets.keys)
  func changed(_ name: String) async throws {
    try await withReach(Self.toml, answer: Self.answer(Self.secrets)) { reach in
      try reach.writeCredentials(Self.secrets)
      try await reach.site.withDaemon(["run", "--config", reach.file]) { _, _ in
        #expect(try await reach.site.rosterctl("wait", "--timeout", "30s").exit == 0)
        var secrets = Self.secrets
        secrets[name] = "n3w-\(name)-0001"
        reach.api.become(Self.answer(secrets))
        #expect(try await reach.site.rosterctl("sync", "--wait").exit == 77)
        try reach.writeCredential(name, secrets[name])
        #expect(try await reach.site.rosterctl("sync", "--wait").exit == 0)
      }
    }
  }

  @Test(
    "53: auth.send that no flow can fill is 78",
    arguments: [
      ("none", #"["X: {client_id}"]"#, "sends no credential"),
      ("static", "[]", "is an empty list"),
      ("static", #"["X: {access_token}", "x: {client_id}"]"#, "names one place twice"),
      ("static", #"["X: {acces_token}"]"#, "{acces_token} is no placeholder"),
      ("static", #"["X: {jwt}"]"#, "signs no token for {jwt}"),
      ("static", #"["X: a\r\nb{access_token}"]"#, "CR or LF"),
      ("oauth2_refresh", #"["X: {client_id}"]"#, "which no entry sends"),
      ("oauth2_refresh", #"["X: {access_token}", "Y: {refresh_token}"]"#, "to its token server only"),
    ])
  func refusedSend(flow: String, send: String, why: String) async throws {
    let toml = "[auth]\nflow = \"\(flow)\"\ntoken_url = \"/token\"\nsend = \(send)\n"
    try await withReach(toml) { reach in
      try await reach.expectRefused(why, "auth.send")
    }
  }
}
