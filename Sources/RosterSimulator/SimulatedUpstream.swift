internal import FoundationEssentials
internal import RosterCore

/// The simulated upstream without its sockets: it answers requests and counts them.
struct SimulatedUpstream {
  /// The plan for the answer to one request.
  struct Plan {
    var seen: Seen
    var response: Response
    var latency: Duration
    var drop: Bool
    var cut: (after: Fault.Cut, ending: Fault.Ending)?
  }

  var scenario: Scenario {
    didSet { tokens.settings = scenario.tokens }
  }
  var counts = Counts()
  var tokens: TokenEndpoint
  var changedAt: Date

  init(_ scenario: Scenario, now: Date) {
    self.scenario = scenario
    tokens = TokenEndpoint(scenario.tokens, now: now)
    changedAt = now
  }

  mutating func receive(_ request: Request, now: Date) -> Plan {
    let target = Target(request, lists: scenario.lists)
    counts.began(target)
    var seen = Seen(target: target, request: request)
    seen.ordinal = ordinal(of: target)
    if target != .token { seen.generation = tokens.generation(of: request) }
    let faults = Faults(of: seen, from: &scenario.rules)
    for edit in faults.edits { edit(&scenario.characters) }
    if !faults.edits.isEmpty { changedAt = now }

    var response = Response(status: 0)
    if let instead = faults.answer {
      response = instead
    } else if !faults.drop {
      response =
        target == .token ? grant(request, now: now) : answer(seen, request: request, distortion: faults.page, now: now)
    }
    seen.status = faults.drop ? nil : response.status
    counts.note(seen, bytes: response.body.count)
    dress(&response, now: now)
    return Plan(seen: seen, response: response, latency: scenario.latency, drop: faults.drop, cut: faults.cut)
  }

  private func ordinal(of target: Target) -> Int {
    switch target {
    case .page: counts.pageRequests.count + 1
    case .token: counts.tokenRequests.count + 1
    default: 0
    }
  }

  private mutating func grant(_ request: Request, now: Date) -> Response {
    let (response, outcome) = scenario.numberedTokens?.answer(request) ?? tokens.answer(request, now: now)
    switch outcome {
    case .granted: counts.tokensGranted += 1
    case .refused: counts.tokensRefused += 1
    case .reused:
      counts.tokensRefused += 1
      counts.reuses += 1
    }
    return response
  }

  private mutating func answer(
    _ seen: Seen, request: Request, distortion: PageEndpoint.Distortion, now: Date
  ) -> Response {
    guard scenario.numberedTokens?.admits(request) ?? tokens.admit(request, now: now) else {
      if let generation = tokens.generation(of: request) { counts.refusedGenerations.insert(generation) }
      let challenge = Request.Header("WWW-Authenticate", #"Bearer error="invalid_token""#)
      return Response(status: 401, headers: [challenge], body: Array(#"{"error":"invalid_token"}"#.utf8))
    }
    switch seen.target {
    case .page(let page) where scenario.lists[request.path] != nil:
      let name = String(request.path.split(separator: "/").last ?? "")
      return validated(scenario.lists[request.path]?.page(page, of: name) ?? Response(status: 404), for: seen)
    case .characters(let ids) where scenario.lists[request.parentPath] != nil:
      return scenario.lists[request.parentPath]?.records(ids) ?? Response(status: 404)
    case .page(let page):
      return validated(PageEndpoint.page(page, of: scenario.characters, distortion: distortion), for: seen)
    case .characters(let ids): return PageEndpoint.characters(ids, of: scenario.characters)
    default: return scenario.beside(request) ?? Response(status: 404, body: Array(PageEndpoint.nothingHere.utf8))
    }
  }

  /// Adds the validator, and answers 304 if the validator of the request is still current (RFC 9110 §13.1).
  private func validated(_ response: Response, for seen: Seen) -> Response {
    guard response.status == 200 else { return response }
    let validator: Request.Header
    let unchanged: Bool
    switch scenario.validators {
    case .none: return response
    case .etag:
      validator = Request.Header("ETag", #"W/"\#(String(fingerprint(response.body), radix: 16))""#)
      unchanged = seen["If-None-Match"] == validator.value
    case .lastModified(let age):
      validator = Request.Header("Last-Modified", changedAt.addingTimeInterval(-age.seconds).httpDate)
      unchanged = seen["If-Modified-Since"] == validator.value
    }
    return Response(
      status: unchanged ? 304 : 200, headers: [validator], body: unchanged ? [] : response.body)
  }

  private func dress(_ response: inout Response, now: Date) {
    if scenario.isDated { response.headers.append(Request.Header("Date", now.httpDate)) }
    if response["Content-Type"] == nil, response.status != 304 {
      response.headers.append(Request.Header("Content-Type", "application/json; charset=utf-8"))
    }
  }

  /// FNV-1a with 64 bits: a fingerprint only needs to differ between versions of a page.
  private func fingerprint(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
  }
}

extension Target {
  /// Reads `request.url`, which has a path and a query.
  init(_ request: Request, lists: [String: TemplateList]) {
    let parts = request.url.split(separator: "?", maxSplits: 1)
    let path = request.path
    if request.method == .post {
      self = path == "/token" || path == "/api/token" ? .token : .other
    } else if path == "/api/character" || path == "/api/character/" || lists[path] != nil {
      let query = parts.count > 1 ? Form(Array(parts[1].utf8))["page"] : nil
      // The real API answers page 1 if the page is not a number.
      self = .page(max(query.flatMap { Int($0) } ?? 1, 1))
    } else if let ids = path.wholeMatch(of: /\/api\/character\/(.+)/)?.1 {
      self = .characters(String(ids))
    } else if lists[request.parentPath] != nil {
      self = .characters(String(path.dropFirst(request.parentPath.count + 1)))
    } else {
      self = .other
    }
  }
}

extension Request {
  fileprivate var path: String { String(url.prefix { $0 != "?" }) }

  /// The path without its last part.
  fileprivate var parentPath: String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "" }
}
