package import RosterCore

/// The behaviour of the simulated upstream. A test builds this value, and may change it while the simulator runs.
package struct Scenario: Sendable {
  /// The validators of an answer (RFC 9110 §8.8).
  package enum Validators: Sendable, Equatable {
    case none, etag
    /// Last-Modified with this age before the start or the latest update.
    case lastModified(age: Duration)
  }

  /// The characters in the order of their pages.
  package var characters: [Character]
  /// Delay from the arrival of a request to the first byte of its answer, for pages and tokens.
  package var latency: Duration = .zero
  /// Answers for other addresses than those of characters, such as further lists; nil for 404. Calls are serialised.
  package var beside: @Sendable (Request) -> Response? = { _ in nil }
  /// Lists by path, such as `/api/character`, which then replaces the characters.
  package var lists: [String: TemplateList] = [:]
  /// Numbered tokens; nil for those of `tokens`.
  package var numberedTokens: NumberedTokens?
  /// False if answers have no Date.
  package var isDated = true
  /// Validators of page answers.
  package var validators: Validators = .etag
  /// Behaviour of the token URL, and the validity of tokens.
  package var tokens: Tokens
  /// All rules that match a request apply to it, in this order.
  package var rules: [Rule]

  /// The default is 826 generated characters, without tokens and faults.
  package init(
    characters: [Character] = Characters.made(Characters.usual), tokens: Tokens = Tokens(), rules: [Rule] = []
  ) {
    self.characters = characters
    self.tokens = tokens
    self.rules = rules
  }

  /// The upstream of `rosterd demo`, with three lists. At a concurrency of 8, the first page of each list and two full
  /// rounds succeed. The eight requests of the third round have an expired token.
  package static var demo: Scenario {
    var scenario = Scenario(tokens: Tokens(flow: .authenticateForm, uses: [19]))
    scenario.beside = SideLists(of: scenario.characters).answer
    scenario.latency = .milliseconds(100)
    return scenario
  }

  /// The same lists without tokens and latency, for `rosterd demo --serve`.
  package static var served: Scenario {
    var scenario = Scenario()
    scenario.beside = SideLists(of: scenario.characters).answer
    return scenario
  }
}

extension Scenario {
  /// The grant and the expiry of tokens.
  package struct Tokens: Sendable {
    /// The flow of the token URL; requests of another flow are refused.
    package var flow: Flow
    /// Place of the access token in a request, as in `auth.send`.
    package var place = TokenPlace.bearer
    /// Number of page answers that the tokens of generation 0, 1, … are valid for; later generations have no such
    /// limit.
    package var uses: [Int]
    /// Lifetime of an access token; nil for no limit.
    package var lifetime: Duration?
    /// The announced `expires_in` in seconds, independent of `lifetime`; nil to leave it out.
    package var expiresIn: Int?
    /// True if access tokens are JWTs, whose `exp` is `lifetime` or one hour ahead.
    package var areJWTs = false
    /// False if an OAuth answer contains no refresh token and the old one stays valid.
    package var rotate = true
    /// True if the client credentials grant returns a refresh token, too.
    package var grantRefreshToken = false

    /// Tokens have no limits by default.
    package init(flow: Flow = .none, uses: [Int] = [], lifetime: Duration? = nil, expiresIn: Int? = nil) {
      self.flow = flow
      self.uses = uses
      self.lifetime = lifetime
      self.expiresIn = expiresIn
    }
  }
}
