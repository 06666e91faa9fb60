import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

struct GrantTests {
  private static let client = Credentials(clientID: Secret("my:id"), clientSecret: Secret("s ecret%"))

  private func request(
    _ flow: Flow, credentials: Credentials = Credentials(), refresh: String? = nil, scope: String = ""
  ) throws -> Request {
    var settings = TokenSettings.sample(flow)
    settings.scope = scope
    return try #require(Grant(flow)).request(
      settings, credentials: credentials, refreshToken: refresh.map { Secret($0) })
  }

  private func header(_ name: String, request: Request) -> String? {
    request.headers.first { $0.name == name }?.value
  }

  private func body(_ request: Request) -> String { String(decoding: request.body, as: UTF8.self) }

  @Test("oauth2_refresh sends the form of RFC 6749 §6, and the client by HTTP Basic if there is one")
  func oauth2Refresh() throws {
    let plain = try request(.oauth2Refresh, refresh: "a+b/c d")
    #expect(plain.method == .post && plain.url == "https://auth.test/token")
    #expect(body(plain) == "grant_type=refresh_token&refresh_token=a%2Bb%2Fc%20d")
    #expect(header("Content-Type", request: plain) == "application/x-www-form-urlencoded")
    #expect(header("Authorization", request: plain) == nil)
    let full = try request(.oauth2Refresh, credentials: Self.client, refresh: "r", scope: "read all")
    #expect(body(full) == "grant_type=refresh_token&refresh_token=r&scope=read%20all")
    #expect(
      header("Authorization", request: full) == "Basic " + Data("my%3Aid:s%20ecret%25".utf8).base64EncodedString())
  }

  @Test("oauth2_refresh names a client without a secret in the form (RFC 6749 §3.2.1)")
  func publicClient() throws {
    let request = try request(.oauth2Refresh, credentials: Credentials(clientID: Secret("my:id")), refresh: "r")
    #expect(body(request) == "grant_type=refresh_token&refresh_token=r&client_id=my%3Aid")
    #expect(header("Authorization", request: request) == nil)
  }

  @Test("oauth2_client_credentials sends RFC 6749 §4.4, or a refresh token first if upstream sent one")
  func clientCredentials() throws {
    let granted = try request(.oauth2ClientCredentials, credentials: Self.client, scope: "x")
    #expect(body(granted) == "grant_type=client_credentials&scope=x")
    #expect(header("Authorization", request: granted)?.hasPrefix("Basic ") == true)
    let refreshed = try request(.oauth2ClientCredentials, credentials: Self.client, refresh: "r")
    #expect(body(refreshed) == "grant_type=refresh_token&refresh_token=r")
  }

  @Test("authenticate_form sends refreshToken, and no client")
  func authenticateForm() throws {
    let form = try request(.authenticateForm, credentials: Self.client, refresh: "é&=")
    #expect(body(form) == "refreshToken=%C3%A9%26%3D")
    #expect(header("Authorization", request: form) == nil)
  }

  @Test("bearer_refresh sends the refresh token as bearer, with an empty body")
  func bearerRefresh() throws {
    let bearer = try request(.bearerRefresh, refresh: "r")
    #expect(bearer.body.isEmpty && header("Authorization", request: bearer) == "Bearer r")
  }

  @Test("bearer_renew sends the access token to be replaced, with an empty body")
  func bearerRenew() throws {
    let bearer = try request(.bearerRenew, refresh: "a0")
    #expect(bearer.method == .post && bearer.body.isEmpty && header("Authorization", request: bearer) == "Bearer a0")
  }

  @Test("none, static and basic send no token request")
  func noGrant() {
    #expect(Grant(.none) == nil)
    #expect(Grant(.static) == nil)
    #expect(Grant(.basic) == nil)
  }
}

struct GrantAnswerTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private func read(
    _ flow: Flow, status: Int = 200, body: String, headers: [Request.Header] = []
  ) throws -> GrantAnswer {
    try #require(Grant(flow)).read(Response(status: status, headers: headers, body: Array(body.utf8)), now: Self.now)
  }

  private func refusal(
    _ flow: Flow, status: Int = 200, body: String, headers: [Request.Header] = []
  ) throws -> GrantRefusal? {
    #expect(throws: GrantRefusal.self) { try read(flow, status: status, body: body, headers: headers) }
  }

  @Test("The flows with both tokens required read both names")
  func both() throws {
    let form = try read(.authenticateForm, body: #"{"token":"a","refreshToken":"r"}"#)
    #expect(form.issued.access == Secret("a") && form.refreshToken == Secret("r"))
    let bearer = try read(.bearerRefresh, body: #"{"accessToken":"a","refreshToken":"r"}"#)
    #expect(bearer.issued.access == Secret("a") && bearer.refreshToken == Secret("r"))
    #expect(try read(.oauth2Refresh, body: #"{"access_token":"a"}"#).refreshToken == nil)
  }

  @Test("bearer_renew sends the token that arrived last when it asks for the next one")
  func renewed() throws {
    let answer = try read(.bearerRenew, body: #"{"accessToken":"a1","refreshToken":"r"}"#)
    #expect(answer.issued.access == Secret("a1") && answer.refreshToken == Secret("a1"))
  }

  @Test(
    "33: a 2xx answer without a required field is incomplete",
    arguments: [
      (Flow.oauth2Refresh, "{}", "access_token"), (.oauth2Refresh, "[]", "access_token"),
      (.oauth2Refresh, #"{"access_token":""}"#, "access_token"),
      (.oauth2Refresh, #"{"access_token":7}"#, "access_token"),
      (.oauth2Refresh, #"{"access_token":"a\r\nX: y"}"#, "access_token"),
      (.authenticateForm, #"{"token":"a"}"#, "refreshToken"), (.bearerRefresh, #"{"refreshToken":"a"}"#, "accessToken"),
      (.bearerRefresh, #"{"accessToken":"a","refreshToken":null}"#, "refreshToken"),
      (.bearerRenew, #"{"refreshToken":"a"}"#, "accessToken"), (.bearerRenew, #"{"accessToken":""}"#, "accessToken"),
      (.oauth2Refresh, #"{"access_token":"a","refresh_token":7}"#, "refresh_token"),
      (.oauth2Refresh, #"{"access_token":"a","refresh_token":"r\nx"}"#, "refresh_token"),
    ])
  func incomplete(flow: Flow, body: String, field: String) throws {
    let refusal = try refusal(flow, body: body)
    guard case .incomplete(field, _)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
  }

  @Test("33: a 2xx answer that is not JSON is malformed", arguments: ["", "<html>", #"{"access_token":"a""#])
  func malformed(body: String) throws {
    #expect(try refusal(.oauth2Refresh, body: body) == .malformed)
  }

  @Test("32, 33: every status of a token answer is refused, passing or other")
  func statuses() throws {
    for status in [400, 401, 403] {
      #expect(
        try refusal(.oauth2Refresh, status: status, body: "") == .refused(status: status, said: nil, isFinal: false))
    }
    for status in [408, 429, 500, 501, 503, 599] {
      #expect(
        try refusal(.oauth2Refresh, status: status, body: "")
          == .passing(status, said: nil, retryAfter: nil, isRefusal: false))
    }
    for status in [302, 307, 402, 404, 410, 422] {
      #expect(try refusal(.oauth2Refresh, status: status, body: "") == .other(status: status, said: nil))
    }
  }

  @Test(
    "33: an answer without a refresh token, or with an empty one, keeps the old one", arguments: ["null", #""""#])
  func keepsOld(refresh: String) throws {
    #expect(try read(.oauth2Refresh, body: #"{"access_token":"a","refresh_token":\#(refresh)}"#).refreshToken == nil)
  }

  @Test("25, 33: a 403 without remaining requests is a rate limit, and ends no session")
  func spent() throws {
    let headers = [Request.Header("X-RateLimit-Remaining", "0"), .init("RateLimit-Reset", "9")]
    let refusal = try refusal(.oauth2Refresh, status: 403, body: "", headers: headers)
    #expect(refusal == .passing(403, said: nil, retryAfter: .seconds(9), isRefusal: true))
  }

  @Test("25, 32: Retry-After of a token answer is seconds, or a date relative to the answer's own Date")
  func retryAfter() throws {
    let seconds = try refusal(.oauth2Refresh, status: 429, body: "", headers: [.init("retry-after", "7")])
    #expect(seconds == .passing(429, said: nil, retryAfter: .seconds(7), isRefusal: false))
    let date = try refusal(
      .oauth2Refresh, status: 503, body: "",
      headers: [
        .init("Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"), .init("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
      ])
    #expect(date == .passing(503, said: nil, retryAfter: .seconds(10), isRefusal: false))
  }

  @Test("30: expiry is expires_in from the answer on, else the JWT's exp corrected by Date, else unknown")
  func expiry() throws {
    func expiry(_ body: String, date: String? = nil) throws -> Double? {
      let headers = date.map { [Request.Header("Date", $0)] } ?? []
      return try read(.oauth2Refresh, body: body, headers: headers).issued.expiresAt?.timeIntervalSince(Self.now)
    }
    // 784111777 is Sun, 06 Nov 1994 08:49:37 GMT.
    let token = jwt(#"{"exp":784111837}"#)
    #expect(try expiry(#"{"access_token":"a","expires_in":30}"#) == 30)
    #expect(try expiry(#"{"access_token":"a","expires_in":"30"}"#) == 30)
    #expect(try expiry(#"{"access_token":"\#(token)","expires_in":30}"#) == 30)
    #expect(
      try expiry(#"{"access_token":"\#(token)","expires_in":0}"#, date: "Sun, 06 Nov 1994 08:49:37 GMT") == 60)
    #expect(try expiry(#"{"access_token":"\#(jwt(#"{"exp":1700000090}"#))"}"#) == 90)
    #expect(try expiry(#"{"access_token":"a"}"#) == nil)
    #expect(try expiry(#"{"access_token":"a","expires_in":-5}"#) == nil)
    #expect(try expiry(#"{"access_token":"a","expires_in":1e999}"#) == nil)
    #expect(try expiry("\u{FEFF}" + #"{"access_token":"a","expires_in":30}"#) == 30)
    #expect(try expiry(#"{"access_token":"a.b.c"}"#) == nil)
  }

  @Test("30: a JWT whose exp has passed on arrival is known to be expired, also with expires_in of 0 or less")
  func bornExpired() throws {
    let old = jwt(#"{"exp":1600000000}"#)
    for more in ["", #","expires_in":0"#, #","expires_in":-5"#] {
      let issued = try read(.oauth2Refresh, body: #"{"access_token":"\#(old)"\#(more)}"#).issued
      #expect(issued.expiresAt == Self.now && Token(generation: 1, issued: issued).isBornExpired)
    }
  }
}
