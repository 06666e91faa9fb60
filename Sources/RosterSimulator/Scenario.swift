package import RosterModel

/// How the simulated upstream behaves: a value that a test builds, and may change while the simulator runs.
package struct Scenario: Sendable {
  /// What an answer carries to be asked with again (RFC 9110 §8.8).
  package enum Validators: Sendable, Equatable {
    case none, etag
    /// Last-Modified, so much older than the start or the latest update.
    case lastModified(age: Duration)
  }

  /// In the order of their pages.
  package var characters: [Character]
  /// From a request's arrival to the first byte of its answer, for pages and tokens alike.
  package var latency: Duration = .zero
  /// What is served beside characters: other lists, at addresses of their own; nil is 404. Called one at a time.
  package var beside: @Sendable (Request) -> Response? = { _ in nil }
  /// What page answers carry.
  package var validators: Validators = .etag
  /// What the token URL does, and which tokens pages are given for.
  package var tokens: Tokens
  /// All that match a request apply to it, in this order.
  package var rules: [Rule]

  /// 826 made-up characters without tokens and faults, unless given.
  package init(
    characters: [Character] = Characters.made(Characters.usual), tokens: Tokens = Tokens(), rules: [Rule] = []
  ) {
    self.characters = characters
    self.tokens = tokens
    self.rules = rules
  }

  /// What `rosterd demo` pulls, three lists: at a concurrency of 8, the first page of each and two full rounds pass,
  /// and the eight requests of the third meet a dead token.
  package static var demo: Scenario {
    var scenario = Scenario(tokens: Tokens(flow: .authenticateForm, uses: [19]))
    scenario.beside = SideLists(of: scenario.characters).answer
    scenario.latency = .milliseconds(100)
    return scenario
  }

  /// The same lists without tokens and latency: what `rosterd demo --serve` serves.
  package static var served: Scenario {
    var scenario = Scenario()
    scenario.beside = SideLists(of: scenario.characters).answer
    return scenario
  }
}

extension Scenario {
  /// How tokens are granted, and when they die.
  package struct Tokens: Sendable {
    /// What the token URL answers; a request in the shape of another flow is refused.
    package var flow: Flow
    /// Where a request must carry its access token, as `auth.send` has it.
    package var place = TokenPlace.bearer
    /// How many page answers the tokens of generation 0, 1, … are good for; later generations have no such end.
    package var uses: [Int]
    /// After so long an access token is refused; nil: never.
    package var lifetime: Duration?
    /// `expires_in` as announced, in seconds, whatever `lifetime` is; nil: left out.
    package var expiresIn: Int?
    /// Access tokens are JWTs, whose `exp` is `lifetime` or an hour ahead.
    package var areJWTs = false
    /// false: the answer of an OAuth flow names no refresh token and the old one stays good.
    package var rotate = true
    /// The client credentials grant gives a refresh token too.
    package var grantRefreshToken = false

    /// Without an end to any token, unless given.
    package init(flow: Flow = .none, uses: [Int] = [], lifetime: Duration? = nil, expiresIn: Int? = nil) {
      self.flow = flow
      self.uses = uses
      self.lifetime = lifetime
      self.expiresIn = expiresIn
    }
  }
}
