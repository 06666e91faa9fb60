import Testing

@testable import RosterModel

@Suite struct TokenPlaceTests {
  @Test(
    "auth.send is a header or a query parameter, with one place for the token",
    arguments: [
      ("Authorization: Bearer {access_token}", TokenPlace.bearer),
      ("PRIVATE-TOKEN:{access_token}", TokenPlace(.header, name: "PRIVATE-TOKEN")),
      ("Cookie:  a=b; s={access_token}; c \t", TokenPlace(.header, name: "Cookie", before: "a=b; s=", after: "; c")),
      ("?api_key={access_token}", TokenPlace(.parameter, name: "api_key")),
      ("?q[k]= a={access_token} ", TokenPlace(.parameter, name: "q[k]", before: " a=", after: " ")),
      ("?a: {access_token}", nil), ("{access_token}", nil), ("X: y", nil), ("?x=y", nil),
      ("{access_token}: x", nil), ("X: {access_token}{access_token}", nil), ("", nil),
    ] as [(String, TokenPlace?)])
  func parsed(text: String, place: TokenPlace?) {
    #expect(TokenPlace(text) == place)
    #expect(place.flatMap { TokenPlace($0.text) } == place)
  }

  @Test func value() {
    #expect(TokenPlace(.header, name: "Cookie", before: "s=", after: ";").value("t") == "s=t;")
  }
}
