import Testing

@testable import RosterAuth

struct SecretTests {
  @Test("38: no way of printing shows a secret, also inside other values")
  func redacted() {
    let secret = Secret("hunter2")
    let credentials = Credentials(refreshToken: secret, clientSecret: secret)
    let token = Token(generation: 1, issued: IssuedToken(access: secret))
    var dumped = ""
    dump((secret, credentials, token), to: &dumped)
    let texts = [
      "\(secret)", String(reflecting: secret), String(describing: credentials), String(reflecting: token),
      "\([secret])", dumped,
    ]
    for text in texts {
      #expect(!text.contains("hunter2"))
      #expect(text.contains("redacted"))
    }
    #expect(secret.reveal() == "hunter2")
  }

  @Test(
    "A secret that could forge a header is not sent in one",
    arguments: [("abc-._~+/=", true), ("", false), ("a\r\nX: y", false), ("é", false)])
  func fitsHeader(text: String, fits: Bool) {
    #expect(Secret(text).fitsHeader == fits)
  }
}
