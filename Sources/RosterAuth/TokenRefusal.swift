package import RosterCore

/// An answer of a page that refuses its token: a 401, `error="invalid_token"`, or what `auth.expired` names.
package struct TokenRefusal: Sendable, Equatable {
  /// Generation of the token; nil if the request had none.
  package var generation: Int?
  /// The status, for messages.
  package var status: Int
  /// The key of `auth.expired` that names the answer; nil for any other.
  package var key: String?
  /// The list of the request.
  package var list: String
  /// True if the request has got a fresh token after an earlier refusal.
  package var isFresh = false
  /// The trial that the request is part of; nil for others.
  package var trial: Int?
  /// True if a request is known that had succeeded.
  var hasWitness = false

  /// A refusal outside of a trial.
  package init(generation: Int? = nil, status: Int = 401, key: String? = nil, list: String = "") {
    self.generation = generation
    self.status = status
    self.key = key
    self.list = list
  }

  var text: String { key.map { "\(status), by \($0)" } ?? "\(status)" }
}

/// The next step for a request whose token was refused.
package enum RefusedRequest: Sendable {
  /// It is sent again with this token.
  case resend(Token?, isFresh: Bool, trial: Int?)
  /// Another request, which had succeeded, is sent with the same token. Its answer decides.
  case verify(Request, trial: Int)
  /// Its answer counts: the refusal is about the list.
  case accept
}
