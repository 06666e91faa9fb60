package import RosterCore

/// The subject of a request.
package enum Target: Sendable, Equatable {
  case page(Int)
  case characters(String)
  case token
  case other
}

/// A request as it reached the simulator.
package struct Seen: Sendable, Equatable {
  /// Subject of the request.
  package var target: Target
  /// Number among the page requests, or among the token requests, from 1; 0 for others.
  package var ordinal = 0
  /// The request as received, with its complete body.
  package var request: Request
  /// Generation of its access token, whether valid or not; nil if it had none, or one that was never granted.
  package var generation: Int?
  /// nil until it is decided, or if the connection was dropped.
  package var status: Int?

  /// N of `?page=N`; nil for other requests.
  package var page: Int? {
    if case .page(let page) = target { page } else { nil }
  }

  /// The first value of a header.
  package subscript(name: String) -> String? {
    Response(status: 0, headers: request.headers)[name]
  }
}

/// The outcome of a token request. `reused` is a spent refresh token.
enum TokenOutcome: Equatable { case granted, refused, reused }

/// Counts of everything that reached the simulator.
package struct Counts: Sendable {
  /// Page requests in the order of arrival.
  package var pageRequests: [Seen] = []
  /// Requests for characters by id, in the order of arrival.
  package var byIDRequests: [Seen] = []
  /// Token requests in the order of arrival.
  package var tokenRequests: [Seen] = []
  /// Number of other requests.
  package var strays = 0
  /// Number of connections accepted since the start.
  package var connections = 0
  /// Number of page and by-id requests without a complete answer.
  package var inFlight = 0
  /// Maximum of `inFlight` so far.
  package var peakInFlight = 0
  /// Number of token requests without a complete answer.
  package var tokensInFlight = 0
  /// Maximum of `tokensInFlight` so far; more than 1 means two refreshes at once.
  package var peakTokensInFlight = 0
  /// Number of answers that wait for `release`.
  package var held = 0
  /// Number of open connections.
  package var openConnections = 0
  /// Number of page requests by the status of the answer that was decided; 0 for a dropped connection.
  package var pageStatuses: [Int: Int] = [:]
  /// The same for requests to the token URL.
  package var tokenStatuses: [Int: Int] = [:]
  /// Number of bytes in the bodies of these page answers.
  package var pageBytes = 0
  /// Number of requests whose connection was closed before the complete answer.
  package var abandoned = 0
  /// Number of token requests that got a token.
  package var tokensGranted = 0
  /// Number of token requests that got an error of the flow.
  package var tokensRefused = 0
  /// Number of uses of a spent refresh token; each one revokes the session.
  package var reuses = 0
  /// Generations of the access tokens that a request was refused with. Each of them needs one refresh.
  package var refusedGenerations: Set<Int> = []

  /// All requests for one page, in the order of arrival.
  package func requests(ofPage page: Int) -> [Seen] {
    pageRequests.filter { $0.page == page }
  }

  /// Number of page requests with this status.
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

  mutating func note(_ seen: Seen, bytes: Int) {
    switch seen.target {
    case .page:
      pageRequests.append(seen)
      pageStatuses[seen.status ?? 0, default: 0] += 1
      pageBytes += bytes
    case .characters: byIDRequests.append(seen)
    case .token:
      tokenRequests.append(seen)
      tokenStatuses[seen.status ?? 0, default: 0] += 1
    case .other: strays += 1
    }
  }
}
