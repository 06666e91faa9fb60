import FoundationEssentials
import RosterCore
import Testing

@testable import RosterAuth

@Suite("47: what a token server says of a refusal")
struct ServerStatementTests {
  private func shown(_ body: String, hiding secrets: [String] = []) -> String? {
    ServerStatement(Response(status: 400, headers: [], body: Array(body.utf8)))?.shown(
      hiding: secrets.map { Secret($0) })
  }

  @Test("47: error, error_description, detail and message are shown, in this order")
  func texts() {
    #expect(
      shown(#"{"message":"m","detail":"d","error_description":"e d","error":"invalid_grant","x":"y"}"#)
        == "invalid_grant, e d, d, m")
    #expect(shown(#"{"detail":{"a":1},"message":"m"}"#) == "m")
  }

  @Test("47: without such a text the names of at most ten fields are shown")
  func names() {
    #expect(shown(#"{"msg":"x","code":7}"#) == "an answer with msg, code")
    let many = (1...12).map { #""f\#($0)":1"# }.joined(separator: ",")
    #expect(shown("{\(many)}") == "an answer with f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, …")
    #expect(shown("<html>") == nil && shown("[]") == nil && shown("{}") == nil && shown("") == nil)
  }

  @Test("47: an empty credential in the answer hides nothing")
  func empty() {
    #expect(shown(#"{"refresh_token":"","detail":"no token"}"#) == "no token")
    #expect(shown(#"{"access_token":"","refresh_token":""}"#) == "an answer with access_token, refresh_token")
  }

  @Test("47: a text has at most 200 characters, and steers no terminal")
  func bounded() {
    let long = shown(#"{"detail":"\#(String(repeating: "word ", count: 100))"}"#)
    #expect(long?.count == 200 && long?.hasSuffix("…") == true)
    #expect(shown(#"{"detail":"a\u001b[2Jb\nc"}"#) == "a\u{FFFD}[2Jb\u{FFFD}c")
  }

  @Test("47: a long credential is masked, and the mask costs little more than reading it")
  func longCredential() {
    let token = String((0..<400_000).map { _ in "abcdefghijkmnopqrstuvwxyz".randomElement() ?? "a" })
    let (middle, end) = (token.dropFirst(200_000).prefix(20), token.suffix(12))
    let began = ContinuousClock.now
    #expect(shown(#"{"error":"x \#(middle) y","detail":"at \#(end)."}"#, hiding: [token]) == "x *** y, at ***.")
    let fields = (1...10).map { #""f\#($0)":1"# }.joined(separator: ",")
    #expect(shown("{\(fields)}", hiding: [token])?.hasSuffix("f9, f10") == true)
    #expect(ContinuousClock.now - began < .seconds(30))
  }

  @Test(
    "38, 47: credentials and tokens are masked, also encoded, cut or unknown",
    arguments: [
      ("token refresh-0123456789abcdef is unknown", "token *** is unknown"),
      ("starts with refresh-0123456", "starts with ***"),
      ("user s%3Acret%20x", "user ***"),
      ("all %72%65%66%72%65%73%68-0123456789%61bcdef.", "all ***."), ("twice s%253Acret%2520x", "twice ***"),
      ("within IHM6Y3JldCB4IA==", "within IH***IA=="), ("user s:cret x.", "user ***."),
      ("Basic czpjcmV0IHg=", "Basic ***="), ("Basic czpjcmV0IHg", "Basic ***"), ("pin 7 of 17", "pin *** of 17"),
      ("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9eyJzdWI1 bad", "*** bad"), ("hidden-value!", "***!"),
      ("Basic Y2lkOnMlM0FjcmV0JTIweA==", "Basic Y2lkOn***A=="),
    ])
  func masked(text: String, expected: String) {
    let body = #"{"detail":"\#(text)","access_token":"hidden-value"}"#
    #expect(shown(body, hiding: ["refresh-0123456789abcdef", "s:cret x", "7"]) == expected)
  }
}

/// Statements of servers in the failures that people read.
@Suite(.timeLimit(.minutes(1)))
struct ServerStatementFailureTests {
  @Test(
    "47: the failure of any flow has what the server said, and a 2xx without a field names that field, too",
    arguments: [
      (
        400, #"{"error":"invalid_grant","error_description":"Token r0-secret-r0 has been revoked"}"#,
        "upstream refuses the refresh token (400, invalid_grant, Token *** has been revoked)"
      ),
      (
        401, #"{"msg":"Token has expired"}"#,
        "upstream refuses the refresh token (401, an answer with msg) without a known error code, so the session stays"
      ),
      (
        403, "<html>",
        "upstream refuses the refresh token (403) without a known error code, so the session stays"
      ),
      (200, #"{"error":"bad_refresh_token"}"#, "upstream refuses the refresh token (200, bad_refresh_token)"),
      (
        200, #"{"error":"odd"}"#,
        "upstream granted it, but access_token is missing in the answer or cannot be sent in a header (odd); the refresh token may be used up"
      ),
      (422, #"{"message":"Not enough segments"}"#, "upstream answered 422, Not enough segments"),
    ])
  func failures(status: Int, body: String, cause: String) async throws {
    let bench = try await Bench(.oauth2Refresh, credentials: Credentials(refreshToken: Secret("r0-secret-r0"))).inSync()
    bench.endpoint.answer(status, body: body)
    #expect(await failure { try await bench.keeper.current() }?.cause == cause)
    #expect(bench.status?.lastError?.contains(cause) == true)
  }
}
