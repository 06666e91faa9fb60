internal import RosterCore

/// Grants access tokens A1, A2, … and refresh tokens R1, R2, …; the first credential is R0. A client that is killed may
/// lose an answer of the token URL: refresh token Rn stays valid until a page was requested with An+1. A client that
/// sends it later has lost tokens that it had.
package struct NumberedTokens: Sendable, Codable {
  /// False if pages need no token.
  package var isRequired = true
  /// Number of the latest token.
  package var granted = 0
  /// Number of the latest access token with which a page was requested.
  package var used = 0
  /// Number of the latest access token that is no longer valid.
  package var expired = 0
  /// Number of requests with the latest used access token.
  package var uses = 0
  /// Number of requests that an access token is valid for; 0 for no limit.
  package var lifetime = 0
  /// Number of the first access token without that limit; 0 for none.
  package var lasting = 0
  /// Number of refresh tokens that were sent after their successor was used.
  package var reuses = 0

  /// Tokens of which none was granted.
  package init() {}

  mutating func admits(_ request: Request) -> Bool {
    guard isRequired else { return true }
    let authorization = Response(status: 0, headers: request.headers)["Authorization"]
    guard let number = Self.number(of: authorization, after: "Bearer A"), number == granted, number > expired else {
      return false
    }
    uses = used == number ? uses + 1 : 1
    used = number
    if lifetime > 0, lasting == 0 || number < lasting, uses > lifetime { expired = number }
    return number > expired
  }

  /// The answer to a form of the flow `oauth2_refresh` or `authenticate_form`.
  mutating func answer(_ request: Request) -> (Response, TokenOutcome) {
    let form = Form(request.body)
    let refusal = Response(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8))
    guard let sent = Self.number(of: form["refresh_token"] ?? form["refreshToken"], after: "R"), sent <= granted else {
      return (refusal, .refused)
    }
    if sent < used {
      reuses += 1
      return (refusal, .reused)
    }
    granted += 1
    let members =
      form["grant_type"] == nil
      ? #""token":"A\#(granted)","refreshToken":"R\#(granted)""#
      : #""access_token":"A\#(granted)","refresh_token":"R\#(granted)","expires_in":3600"#
    return (Response(status: 200, body: Array("{\(members)}".utf8)), .granted)
  }

  /// nil for a token of another form.
  private static func number(of token: String?, after prefix: String) -> Int? {
    token.flatMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }
  }
}
