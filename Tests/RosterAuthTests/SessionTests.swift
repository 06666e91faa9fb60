import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

struct SessionTests {
  private let settings = TokenSettings.sample(.oauth2Refresh)
  private let files = Credentials(refreshToken: Secret("r0"), clientID: Secret("id"), clientSecret: Secret("s"))

  private func change(
    settings: TokenSettings? = nil, ended: Bool = false, _ edit: (inout Credentials) -> Void = { _ in }
  ) throws -> Session.Change {
    var session = Session(self.settings, credentials: files)
    session.standing = .token(IssuedToken(access: Secret("a1")))
    session.refreshToken = Secret("r1")
    if ended {
      session.standing = .ended(
        .init(
          at: Date(timeIntervalSince1970: 0), cause: "c", file: "f",
          tried: Session.tried(self.settings, credentials: files)))
    }
    var now = files
    edit(&now)
    return try Session.change(from: session, settings ?? self.settings, credentials: now)
  }

  private func begins(_ change: Session.Change, with refreshToken: String) -> Bool {
    if case .begin(let session) = change {
      session.refreshToken == Secret(refreshToken) && session.access == nil
    } else {
      false
    }
  }

  @Test("35: equal bytes, a new client_secret or a removed file keep the session")
  func kept() throws {
    #expect(try change() == .none)
    #expect(try change { $0.clientSecret = Secret("other") } == .none)
    #expect(try change { $0.refreshToken = nil } == .none)
  }

  @Test("35: a removed credential file does not reopen an ended session")
  func goneIsNoChange() throws {
    #expect(try change(ended: true) { $0.refreshToken = nil } == .none)
    #expect(try change(ended: true) { $0.clientSecret = nil } == .lift)
  }

  @Test("35: a credential whose bytes changed starts a new session and wins over the store")
  func changed() throws {
    #expect(begins(try change { $0.refreshToken = Secret("r9") }, with: "r9"))
    guard case .begin(let session) = try change({ $0.accessToken = Secret("a9") }) else {
      Issue.record("kept")
      return
    }
    #expect(session.access?.access == Secret("a9"))
  }

  @Test("35: a new session keeps the tokens whose files are missing or unchanged", arguments: [false, true])
  func keptTokens(isRemoved: Bool) throws {
    func edit(_ files: inout Credentials) {
      files.accessToken = Secret("a9")
      if isRemoved { files.refreshToken = nil }
    }
    guard case .begin(let session) = try change(edit) else {
      Issue.record("kept")
      return
    }
    #expect(session.access?.access == Secret("a9") && session.refreshToken == Secret("r1"))
    // The file of the token that r1 has replaced may come back.
    let again = try Session.change(
      from: session, settings,
      credentials: Credentials(
        refreshToken: Secret("r0"), accessToken: Secret("a9"), clientID: Secret("id"), clientSecret: Secret("s")))
    #expect(again == .none)
  }

  @Test("35: a new session does not take over the tokens of another user, and is 78 if it needs them")
  func otherUser() throws {
    var settings = TokenSettings.sample(.exchange)
    settings.exchange?.login = nil
    settings.exchange?.refresh?.body = .object([
      .init("id", .text("{username}")), .init("rt", .text("{refresh_token}")),
    ])
    let session = Session(settings, credentials: Credentials(refreshToken: Secret("r1"), username: Secret("alice")))
    func change(_ user: String) throws -> Session.Change {
      try Session.change(
        from: session, settings, credentials: Credentials(accessToken: Secret("a9"), username: Secret(user)))
    }
    guard case .begin(let next) = try change("alice") else {
      Issue.record("kept")
      return
    }
    #expect(next.refreshToken == Secret("r1"))
    let failure = #expect(throws: Failure.self) { try change("bob") }
    #expect(failure?.kind == .configuration && failure?.subject == "/etc/rosterd/credentials/refresh_token")
  }

  @Test("35, 39: texts that Unicode considers equal are different credentials")
  func bytes() throws {
    let (composed, decomposed) = (Secret("caf\u{E9}"), Secret("cafe\u{301}"))
    #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
    let session = Session(settings, credentials: Credentials(refreshToken: Secret("r0"), clientID: composed))
    let files = Credentials(refreshToken: Secret("r9"), clientID: decomposed)
    guard case .begin = try Session.change(from: session, settings, credentials: files) else {
      Issue.record("kept")
      return
    }
    let same = Credentials(refreshToken: Secret("r0"), clientID: decomposed)
    #expect(try Session.change(from: session, settings, credentials: same) != .none)
  }

  @Test("25: a session takes over the pause of its token server only")
  func pause() {
    var earlier = Session(settings, credentials: files)
    let now = Date(timeIntervalSince1970: 0)
    let isNoted = earlier.notePause(.seconds(60), at: ClockReading(date: now, uptime: .zero))
    #expect(isNoted)
    var next = Session(settings, credentials: files)
    next.takePause(of: [next, earlier])
    #expect(next.pause == earlier.pause)
    var moved = settings
    moved.tokenOrigin = "https://other:443"
    var other = Session(moved, credentials: files)
    other.takePause(of: [earlier])
    #expect(other.pause == nil)
  }

  @Test("39: a stored token belongs to the origins, the flow and the client for which it was obtained")
  func bound() throws {
    for edit: (inout TokenSettings) -> Void in [
      { $0.baseOrigin = "https://other:443" }, { $0.tokenOrigin = "https://other:443" }, { $0.flow = .bearerRefresh },
    ] {
      var moved = settings
      edit(&moved)
      #expect(begins(try change(settings: moved), with: "r0"))
    }
    #expect(begins(try change { $0.clientID = Secret("other") }, with: "r0"))
    var samePlace = settings
    samePlace.tokenURL = "https://auth.test/other"
    #expect(try change(settings: samePlace) == .none)
  }

  @Test("35: only new bytes of a credential file, token_url and scope reopen an ended session")
  func lifted() throws {
    #expect(try change(ended: true) == .none)
    #expect(try change(ended: true) { $0.clientSecret = Secret("new") } == .lift)
    var moved = settings
    moved.tokenURL = "https://auth.test/other"
    #expect(try change(settings: moved, ended: true) == .lift)
    moved = settings
    moved.scope = "more"
    #expect(try change(settings: moved, ended: true) == .lift)
    #expect(begins(try change(ended: true) { $0.refreshToken = Secret("r9") }, with: "r9"))
    moved = settings
    moved.earlyRefresh = .seconds(1)
    #expect(try change(settings: moved, ended: true) == .none)
  }

  @Test(
    "A credential that neither file nor store has is 78, and the message names the file",
    arguments: [
      (Flow.static, "access_token"), (.oauth2Refresh, "refresh_token"), (.authenticateForm, "refresh_token"),
      (.bearerRefresh, "refresh_token"), (.oauth2ClientCredentials, "client_id"), (.basic, "username"),
      (.bearerRenew, "access_token"), (.exchange, "username"),
    ])
  func missing(flow: Flow, file: String) {
    let failure = #expect(throws: Failure.self) {
      try Session.change(from: nil, TokenSettings.sample(flow), credentials: Credentials())
    }
    #expect(failure?.kind == .configuration)
    #expect(failure?.description.contains("/etc/rosterd/credentials/\(file)") == true)
    // `rosterd check` looks for the same file.
    #expect(TokenSettings.sample(flow).neededCredentials.first == file)
  }

  @Test("A credential that would forge a header is 78", arguments: [Flow.static, .oauth2Refresh, .exchange])
  func unsendable(flow: Flow) {
    let files = Credentials(
      refreshToken: Secret("r"), accessToken: Secret("a\nb"), clientID: Secret("c"), clientSecret: Secret("s"),
      username: Secret("u"), password: Secret("p"))
    let failure = #expect(throws: Failure.self) {
      try Session.change(from: nil, .sample(flow), credentials: files)
    }
    #expect(failure?.kind == .configuration)
  }

  @Test("basic encodes user and password as in RFC 7617; without a password it is empty")
  func basic() {
    let settings = TokenSettings.sample(.basic)
    func token(_ user: String, password: String?) -> String? {
      let files = Credentials(accessToken: Secret("a"), username: Secret(user), password: password.map { Secret($0) })
      return Session(settings, credentials: files).access?.access.reveal()
    }
    // RFC 7617 §2 and §2.1.
    #expect(token("Aladdin", password: "open sesame") == "QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
    #expect(token("test", password: "123£") == "dGVzdDoxMjPCow==")
    #expect(token("sk_key", password: nil) == Data("sk_key:".utf8).base64EncodedString())
    #expect(settings.places == [TokenPlace(.header, name: "Authorization", before: "Basic ")])
  }

  @Test(
    "A user or password that HTTP Basic cannot carry is 78",
    arguments: [
      ("a:b", "p", "username"), ("a\nb", "p", "username"), ("a", "p\u{7F}", "password"), ("a", "p\tq", "password"),
    ])
  func unfitForBasic(user: String, password: String, file: String) {
    let failure = #expect(throws: Failure.self) {
      try Session.change(
        from: nil, .sample(.basic), credentials: Credentials(username: Secret(user), password: Secret(password)))
    }
    #expect(failure?.kind == .configuration && failure?.subject == "/etc/rosterd/credentials/\(file)")
  }

  @Test("basic starts another session if its files change or its password disappears, and for no other file")
  func changedBasic() throws {
    let settings = TokenSettings.sample(.basic)
    let files = Credentials(username: Secret("u"), password: Secret("p"))
    func begins(_ edit: (inout Credentials) -> Void) throws -> Bool {
      var now = files
      edit(&now)
      if case .begin = try Session.change(from: Session(settings, credentials: files), settings, credentials: now) {
        return true
      }
      return false
    }
    #expect(try begins { $0.password = Secret("q") })
    #expect(try begins { $0.username = Secret("v") })
    #expect(try begins { $0.password = nil })
    #expect(try !begins { $0.refreshToken = Secret("r") })
    #expect(try !begins { _ in })
  }

  @Test("35: bearer_renew starts with the file access_token and goes on without the file")
  func renew() throws {
    let settings = TokenSettings.sample(.bearerRenew)
    let files = Credentials(refreshToken: Secret("r"), accessToken: Secret("a0"))
    var session = Session(settings, credentials: files)
    #expect(session.access?.access == Secret("a0") && session.refreshToken == Secret("a0"))
    session.standing = .token(IssuedToken(access: Secret("a1")))
    session.refreshToken = Secret("a1")
    #expect(try Session.change(from: session, settings, credentials: Credentials()) == .none)
    #expect(try Session.change(from: session, settings, credentials: Credentials(refreshToken: Secret("new"))) == .none)
    guard
      case .begin(let next) = try Session.change(from: session, settings, credentials: .init(accessToken: Secret("b0")))
    else {
      Issue.record("kept")
      return
    }
    #expect(next.access?.access == Secret("b0") && next.refreshToken == Secret("b0"))
  }

  @Test("35, 38: the stored digests do not contain the credentials")
  func digests() {
    let session = Session(settings, credentials: Credentials(refreshToken: Secret("hunter2")))
    #expect(session.began == ["refresh_token": "f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7"])
  }
}
