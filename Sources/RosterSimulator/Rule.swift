package import RosterCore

/// The requests that a rule or a gate applies to.
package enum Match: Sendable, Equatable {
  case anyPage
  case page(Int)
  case pages(ClosedRange<Int>)
  /// The n-th of all page requests, from 1.
  case request(Int)
  /// Requests for characters by id.
  case byID
  case anyToken
  /// The n-th token request, from 1.
  case token(Int)
  /// Page requests with this status. It is only for gates: rules apply before the status is decided.
  case status(Int)

  func covers(_ seen: Seen) -> Bool {
    switch (self, seen.target) {
    case (.anyPage, .page), (.byID, .characters), (.anyToken, .token): true
    case (.page(let wanted), .page(let page)): wanted == page
    case (.pages(let wanted), .page(let page)): wanted.contains(page)
    case (.request(let ordinal), .page), (.token(let ordinal), .token): ordinal == seen.ordinal
    case (.status(let status), .page): status == seen.status
    default: false
    }
  }
}

/// A fault or a change at a request.
package enum Fault: Sendable {
  /// The part of the answer that is sent before the interruption.
  package enum Cut: Sendable, Equatable { case nothing, head, half }
  /// The end of the connection after the interruption.
  package enum Ending: Sendable, Equatable {
    case reset, close
    /// The rest follows after a release.
    case stall
  }

  /// Sent instead of the real answer. The request has no effect: it neither spends nor grants a token.
  case answer(status: Int, headers: [Request.Header] = [], body: String = "")
  /// The connection is reset and the request has no effect.
  case drop
  /// The request has its effect, but its answer is interrupted.
  case cut(after: Cut, Ending)
  /// The characters change before this request is answered.
  case drift(@Sendable (inout [Character]) -> Void)
  /// Replaces the numbers in the page's `info`; nil for the true number.
  case info(count: Int? = nil, pages: Int? = nil)
  /// JSON that replaces the page's records, by position from 0.
  case records([Int: String])
  /// JSON members added to each record of the page, such as `"power":1e400`.
  case extra(String)

  /// An error with a small JSON body.
  package static func status(_ code: Int, retryAfter: String? = nil) -> Fault {
    let headers = retryAfter.map { [Request.Header("Retry-After", $0)] } ?? []
    return .answer(status: code, headers: headers, body: #"{"error":"simulated"}"#)
  }

  /// A statement about the grant (RFC 6749 §5.2), which ends a session.
  package static func refusal(_ code: Int = 400) -> Fault {
    .answer(status: code, body: #"{"error":"invalid_grant"}"#)
  }

  /// A page of HTML, as proxies and captive portals send it.
  package static func html(status: Int = 200) -> Fault {
    let headers = [Request.Header("Content-Type", "text/html; charset=utf-8")]
    return .answer(status: status, headers: headers, body: "<!doctype html><title>Welcome</title><p>Log in to go on.")
  }

  /// An answer without a body that redirects to another address.
  package static func redirect(to location: String, status: Int = 302) -> Fault {
    .answer(status: status, headers: [Request.Header("Location", location)])
  }

  /// The answer for a page after the end.
  package static var vanished: Fault { .answer(status: 404, body: PageEndpoint.nothingHere) }
}

/// A fault, the requests that it applies to, and their maximum number.
package struct Rule: Sendable {
  var match: Match
  /// nil for no limit.
  var times: Int?
  var fault: Fault

  /// The fault applies to the first `times` requests that match; nil for all of them.
  package static func on(_ match: Match, times: Int? = nil, _ fault: Fault) -> Rule {
    Rule(match: match, times: times, fault: fault)
  }
}

/// All faults of one request.
struct Faults {
  var answer: Response?
  var drop = false
  var cut: (after: Fault.Cut, ending: Fault.Ending)?
  var edits: [@Sendable (inout [Character]) -> Void] = []
  var page = PageEndpoint.Distortion()

  /// Collects the faults of the matching rules, and counts these rules down.
  init(of seen: Seen, from rules: inout [Rule]) {
    for index in rules.indices where rules[index].match.covers(seen) && rules[index].times != 0 {
      rules[index].times = rules[index].times.map { $0 - 1 }
      add(rules[index].fault)
    }
  }

  private mutating func add(_ fault: Fault) {
    switch fault {
    case .answer(let status, let headers, let body):
      answer = Response(status: status, headers: headers, body: Array(body.utf8))
    case .drop: drop = true
    case .cut(let after, let ending): cut = (after, ending)
    case .drift(let edit): edits.append(edit)
    case .info(let count, let pages):
      page.count = count
      page.pages = pages
    case .records(let records): page.records.merge(records) { $1 }
    case .extra(let members): page.extra.append(members)
    }
  }
}
