package import RosterModel

/// Which requests a rule or a gate is about.
package enum Match: Sendable, Equatable {
  case anyPage
  case page(Int)
  case pages(ClosedRange<Int>)
  /// The n-th page request of all, from 1.
  case request(Int)
  /// Requests for characters by id.
  case byID
  case anyToken
  /// The n-th token request, from 1.
  case token(Int)
  /// Page requests that will be answered so. For gates only: a rule applies before there is a status.
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

/// What goes wrong, or changes, at a request.
package enum Fault: Sendable {
  /// How much of the answer is sent before it breaks off.
  package enum Cut: Sendable, Equatable { case nothing, head, half }
  /// What becomes of the connection then.
  package enum Ending: Sendable, Equatable {
    case reset, close
    /// The rest follows when it is released.
    case stall
  }

  /// Sent instead of the real answer; the request has no effect (no token is spent or granted).
  case answer(status: Int, headers: [Request.Header] = [], body: String = "")
  /// The connection is reset and the request has no effect.
  case drop
  /// The request has its effect, but its answer breaks off.
  case cut(after: Cut, Ending)
  /// The characters change before this request is answered.
  case drift(@Sendable (inout [Character]) -> Void)
  /// The page's `info` says so instead of the truth; nil: the truth.
  case info(count: Int? = nil, pages: Int? = nil)
  /// JSON that takes the place of the page's records, by position from 0.
  case records([Int: String])
  /// JSON members added to each record of the page: `"power":1e400`.
  case extra(String)

  /// An error with a small JSON body.
  package static func status(_ code: Int, retryAfter: String? = nil) -> Fault {
    let headers = retryAfter.map { [Request.Header("Retry-After", $0)] } ?? []
    return .answer(status: code, headers: headers, body: #"{"error":"simulated"}"#)
  }

  /// A page of HTML, as proxies and captive portals send it.
  package static func html(status: Int = 200) -> Fault {
    let headers = [Request.Header("Content-Type", "text/html; charset=utf-8")]
    return .answer(status: status, headers: headers, body: "<!doctype html><title>Welcome</title><p>Log in to go on.")
  }

  /// An answer without a body that leads elsewhere.
  package static func redirect(to location: String, status: Int = 302) -> Fault {
    .answer(status: status, headers: [Request.Header("Location", location)])
  }

  /// What a page past the end answers.
  package static var vanished: Fault { .answer(status: 404, body: PageEndpoint.nothingHere) }
}

/// A fault, the requests that it befalls, and how many of them.
package struct Rule: Sendable {
  var match: Match
  /// nil: each time.
  var times: Int?
  var fault: Fault

  /// The fault befalls the first `times` requests that match; nil: all of them.
  package static func on(_ match: Match, times: Int? = nil, _ fault: Fault) -> Rule {
    Rule(match: match, times: times, fault: fault)
  }
}

/// The faults of one request, together.
struct Faults {
  var answer: Response?
  var drop = false
  var cut: (after: Fault.Cut, ending: Fault.Ending)?
  var edits: [@Sendable (inout [Character]) -> Void] = []
  var page = PageEndpoint.Distortion()

  /// Counts down the rules that apply.
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
