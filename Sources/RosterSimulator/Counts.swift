package import RosterModel

/// What a request asks for.
package enum Target: Sendable, Equatable {
  case page(Int)
  case characters(String)
  case token
  case other
}

/// A request as the simulator saw it.
package struct Seen: Sendable, Equatable {
  /// What it asked for.
  package var target: Target
  /// Among the page requests, or among the token requests, from 1; 0 for others.
  package var ordinal = 0
  /// As it came, its body whole.
  package var request: Request
  /// Of the access token that it carried, be it good or not; nil: none, or one that was never granted.
  package var generation: Int?
  /// nil until it is decided, and where the connection was dropped.
  package var status: Int?

  /// N of `?page=N`; nil for other requests.
  package var page: Int? {
    if case .page(let page) = target { page } else { nil }
  }

  /// The header's first value.
  package subscript(name: String) -> String? {
    Response(status: 0, headers: request.headers)[name]
  }
}

/// Everything that reached the simulator.
package struct Counts: Sendable {
  /// In the order in which they came.
  package var pageRequests: [Seen] = []
  /// Requests for characters by id, in the order in which they came.
  package var byIDRequests: [Seen] = []
  /// In the order in which they came.
  package var tokenRequests: [Seen] = []
  /// Requests for anything else.
  package var strays = 0
  /// Accepted since the start.
  package var connections = 0
  /// Page and by-id requests that are not wholly answered yet.
  package var inFlight = 0
  /// The most that `inFlight` ever was.
  package var peakInFlight = 0
  /// Token requests that are not wholly answered yet.
  package var tokensInFlight = 0
  /// More than 1: two refreshes at once.
  package var peakTokensInFlight = 0
  /// Answers that wait for `release`.
  package var held = 0
  /// Requests whose connection was gone before the answer was.
  package var abandoned = 0
  /// Token requests that gave a token.
  package var tokensGranted = 0
  /// Token requests that were answered with an error of the flow.
  package var tokensRefused = 0
  /// Uses of a refresh token that was spent already; each revokes the session.
  package var reuses = 0

  /// All requests for one page, in the order in which they came.
  package func requests(ofPage page: Int) -> [Seen] {
    pageRequests.filter { $0.page == page }
  }

  /// How many page requests were answered so.
  package func pages(answered status: Int) -> Int {
    pageRequests.count { $0.status == status }
  }

  mutating func began(_ target: Target) {
    if target == .token {
      tokensInFlight += 1
      peakTokensInFlight = max(peakTokensInFlight, tokensInFlight)
    } else {
      inFlight += 1
      peakInFlight = max(peakInFlight, inFlight)
    }
  }

  mutating func ended(_ target: Target) {
    if target == .token { tokensInFlight -= 1 } else { inFlight -= 1 }
  }

  mutating func note(_ seen: Seen) {
    switch seen.target {
    case .page: pageRequests.append(seen)
    case .characters: byIDRequests.append(seen)
    case .token: tokenRequests.append(seen)
    case .other: strays += 1
    }
  }
}
