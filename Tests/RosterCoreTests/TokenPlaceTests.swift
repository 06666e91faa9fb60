import Testing

@testable import RosterCore

@Suite struct TokenPlaceTests {
  @Test(
    "An entry of auth.send is a header, a query parameter or a member of a body, with a template as its value",
    arguments: [
      ("Authorization: Bearer {access_token}", TokenPlace.bearer),
      ("PRIVATE-TOKEN:{access_token}", TokenPlace(.header, name: "PRIVATE-TOKEN")),
      ("Cookie:  a=b; s={access_token}; c \t", TokenPlace(.header, name: "Cookie", before: "a=b; s=", after: "; c")),
      ("?api_key={access_token}", TokenPlace(.parameter, name: "api_key")),
      ("?q[k]= a={access_token} ", TokenPlace(.parameter, name: "q[k]", before: " a=", after: " ")),
      ("/auth/key={access_token}", TokenPlace(.body, name: "/auth/key")),
      ("?a: {access_token}", nil), ("{access_token}", nil), ("/a", nil), ("/~2={access_token}", nil), ("", nil),
    ] as [(String, TokenPlace?)])
  func parsed(text: String, place: TokenPlace?) {
    #expect(TokenPlace(text) == place)
    #expect(place.flatMap { TokenPlace($0.text) } == place)
  }

  @Test("The placeholders of all entries are those of auth.login.body and {basic}")
  func placeholders() {
    let places = ["X: {client_id}-{access_token}", "?k={basic}", "/a={password}"].compactMap { TokenPlace($0) }
    #expect(places.placeholders == [.clientID, .accessToken, .basic, .password])
    #expect(
      places.map { $0.value.filled { "<\($0.rawValue)>" } } == ["<client_id>-<access_token>", "<basic>", "<password>"])
  }
}
