import RosterModel

/// The keys of `[resource.NAME.since]`, each by itself.
struct SinceDraft: Sendable {
  var at: JSONPointer?
  var token: Resource.AnswerPlace?
  var param: Resource.RequestPlace?
  var value = "{since}"
  var form = Since.Form.rfc3339
  var zone: Int?
  var overlap: Since.Overlap?
  var from: String?
  var wholeEvery: Duration? = Since.usualWhole
  var asks = false
  var key: [JSONPointer]?
  // The following keys are nil if the resource's own value applies.
  var path: String?
  var query: [Resource.Parameter]?
  var method: Resource.Method?
  var body: JSONValue?
  var records: JSONPointer?
  var shape: Resource.Shape?
  var rowNames: JSONPointer?
  var pages: PagesDraft?

  init() {}

  init(_ since: Since, of resource: Resource) {
    at = since.at
    token = since.token
    param = since.param
    value = since.value
    form = since.form
    zone = since.zone
    overlap = since.token == nil ? since.overlap : nil
    from = since.from
    wholeEvery = since.wholeEvery
    asks = since.asks
    let (own, whole) = (since.listing, resource.listing)
    path = own.path == whole.path ? nil : own.path
    query = own.query == whole.query ? nil : own.query
    method = own.method == whole.method ? nil : own.method
    body = own.body == whole.body ? nil : own.body
    records = own.records == whole.records ? nil : own.records
    shape = own.shape == whole.shape ? nil : own.shape
    rowNames = own.rowNames == whole.rowNames ? nil : own.rowNames
    key = since.asks ? [own.key] + own.otherKeys : nil
    pages = own.pages == whole.pages ? nil : PagesDraft(own.pages)
  }

  /// nil if something is missing.
  /// - Parameter usual: The pages of the whole list, which also apply here if this table has none.
  func since(of listing: Listing, pages usual: PagesDraft) -> Since? {
    guard (at == nil) != (token == nil), param != nil || at == nil else { return nil }
    var own = listing
    own.path = path ?? own.path
    own.query = query ?? own.query
    own.method = method ?? own.method
    own.body = body ?? own.body
    own.records = records ?? own.records
    own.shape = shape ?? own.shape
    own.rowNames = rowNames ?? own.rowNames
    if asks {
      guard let key, let first = key.first else { return nil }
      (own.key, own.otherKeys) = (first, Array(key.dropFirst()))
    }
    // The default of `at` is the key, which may be at another place in the incremental list.
    guard let pages = (pages ?? usual).pages(key: own.key) else { return nil }
    own.pages = pages
    return Since(
      at: at, token: token, param: param, value: value, form: form, zone: zone, overlap: overlap, from: from,
      wholeEvery: wholeEvery, asks: asks, listing: own)
  }

  static let keys: [DefinitionKey<SinceDraft>] = [
    DefinitionKey("at", \.at, .pointer), DefinitionKey("token", \.token, .answerPlace),
    DefinitionKey("param", \.param, .requestPlace),
    DefinitionKey("value", \.value, .sinceValue), DefinitionKey("form", \.form, .choice),
    DefinitionKey("zone", \.zone, .zone), DefinitionKey("overlap", \.overlap, .overlap, absent: nil),
    DefinitionKey("from", \.from, .text("any text")),
    DefinitionKey("whole_every", \.wholeEvery, .durationOrNever(atLeast: .seconds(60))),
    DefinitionKey("ask", \.asks, .boolean), DefinitionKey("key", \.key, .keyPlaces, absent: nil),
    DefinitionKey("path", \.path, .resourcePath, absent: nil),
    DefinitionKey("query", \.query, .parameters, absent: nil),
    DefinitionKey("method", \.method, .choice, absent: nil), DefinitionKey("body", \.body, .object, absent: nil),
    DefinitionKey("records", \.records, .pointer, absent: nil), DefinitionKey("shape", \.shape, .choice, absent: nil),
    DefinitionKey("row_names", \.rowNames, .pointer, absent: nil),
  ]
  /// Keys that say something about the values at `at`.
  static let keysOfMarks = ["form", "zone", "overlap", "from"]
  /// Keys whose tables are read by rules of their own.
  static let tables = ["pages"]
}

extension ValueType<String> {
  /// A text with the placeholder of the start.
  static var sinceValue: Self {
    .text(
      allowed: "a text with {since} or {since:FORM} once; FORM is rfc3339, unix, unix_ms or date",
      problem: "does not have {since} or {since:FORM} once",
      parse: {
        $0.split(separator: "{since", omittingEmptySubsequences: false).count == 2
          && Since.placeholder(in: $0) != nil ? $0 : nil
      },
      write: { $0 })
  }
}

extension ValueType<Int> {
  /// Seconds east of Greenwich.
  static var zone: Self {
    .text(
      allowed: "an offset such as \"+01:00\"", problem: "is not an offset",
      parse: { text in
        guard let match = text.wholeMatch(of: /([+-])(\d\d):(\d\d)/), let hours = Int(match.2), hours < 24,
          let minutes = Int(match.3), minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (match.1 == "-" ? -1 : 1)
      },
      write: { seconds in
        let minutes = abs(seconds) / 60
        func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(seconds < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
      })
  }
}

extension ValueType<Since.Overlap> {
  static var overlap: Self {
    let duration = ValueType<Duration>.duration(atLeast: .seconds(1))
    return Self(
      name: duration.name, allowed: "\(duration.allowed); an integer from 1 with form = \"number\"", isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .integer(let number) = item else { return .time(try duration.read(item)) }
        guard number >= 1 else { throw Mistakes("\(number) is out of range") }
        return .number(Int64(number))
      },
      write: { overlap in
        switch overlap {
        case .time(let time): duration.write(time)
        case .number(let number): "\(number)"
        }
      })
  }
}

extension ResourceDraft {
  /// Mistakes in `since` that the contract refuses (F3).
  @Rules<DefinitionConflict> var sinceConflicts: [DefinitionConflict] {
    if let since {
      if since.at == nil, since.token == nil {
        since.conflict(
          "at", problem: "is missing", allowed: "the place of the time of a record's last change, or token")
      }
      if since.at != nil, since.token != nil {
        since.conflict("token", rests: ["at"], problem: "stands beside at", allowed: "at or token")
      }
      if since.token != nil, Since.placeholder(in: since.value)?.form != nil {
        since.conflict(
          "value", rests: ["token"], problem: "{since:FORM} converts a time, and {since} is the token",
          allowed: "{since}")
      }
      askConflicts(since)
      if since.param == nil, since.token == nil {
        since.conflict("param", problem: "is missing", allowed: PagesDraft.parameter)
      }
      since.formConflicts
      if since.wholeEvery == nil, (removal ?? (byKey == nil ? .twice : .ask)) != .never {
        since.conflict(
          "whole_every",
          problem: "\"never\" needs removal = \"never\", because only a whole pull finds removed records",
          allowed: "a duration, or removal = \"never\"")
      }
      paramConflicts(since)
      since.pages?.conflicts(of: ["since", "pages"]) ?? []
    }
  }

  @Rules<DefinitionConflict> private func askConflicts(_ since: SinceDraft) -> [DefinitionConflict] {
    if since.asks, byKey == nil {
      since.conflict("ask", problem: "needs by_key of the resource", allowed: "false, or by_key")
    }
    if since.asks, since.key == nil {
      since.conflict(
        "key", rests: ["ask"], problem: "is missing", allowed: "the place of the key in the incremental list")
    }
    if !since.asks, since.key != nil {
      since.conflict("key", rests: ["ask"], problem: "is for ask = true", allowed: "no key")
    }
    if since.asks, let own = since.key, own.count != key.count {
      since.conflict(
        "key", rests: ["ask"], problem: "has another number of places than the key of the resource",
        allowed: "\(key.count)")
    }
    if (since.shape ?? shape) != .rows, since.rowNames.map({ !$0.isWhole }) == true {
      since.conflict("row_names", rests: ["shape"], problem: "needs shape = \"rows\"", allowed: "no row_names")
    }
  }

  @Rules<DefinitionConflict> private func paramConflicts(_ since: SinceDraft) -> [DefinitionConflict] {
    let requests = requests(with: since)
    if since.param == .everyMember {
      since.conflict("param", problem: "\"*\" is for pages", allowed: PagesDraft.parameter)
    } else if case .body(let pointer)? = since.param, requests.contains(where: { $0.method == .get }) {
      since.conflict(
        "param", rests: ["method"],
        problem: "\(pointer.description.tomlString) is a place in the body of a POST",
        allowed: "the name of a query parameter, or the method POST")
    } else if case .body(let pointer)? = since.param, !requests.allSatisfy({ $0.body.canSet(pointer) }) {
      since.conflict(
        "param", rests: ["body"],
        problem: pointer.unsettable, allowed: "a place in a table")
    } else if let problem = requests.lazy.compactMap({ since.problem(beside: $0.pages) }).first {
      since.conflict("param", problem: problem, allowed: "a parameter of its own")
    }
  }

  /// The requests that contain `param`: those of an incremental pull, and with `from` those of a whole pull.
  private func requests(
    with since: SinceDraft
  ) -> [(method: Resource.Method, body: JSONValue, pages: PagesDraft)] {
    let incremental = (since.method ?? method, since.body ?? body, since.pages ?? pages)
    return since.from == nil ? [incremental] : [incremental, (method, body, pages)]
  }
}

extension SinceDraft {
  fileprivate func conflict(
    _ name: String, rests: [String] = [], problem: String, allowed: String
  ) -> DefinitionConflict {
    DefinitionConflict(
      path: ["since", name], restsOn: ([name] + rests).map { ["since", $0] }, problem: problem, allowed: allowed)
  }

  /// A clause if a request cannot send both `param` and the parameters of `pages`.
  fileprivate func problem(beside pages: PagesDraft) -> String? {
    guard let param else { return nil }
    // A cursor may begin with the delta token.
    if token == nil && param == pages.sentParam || param == pages.sizeParam { return "is a parameter of pages too" }
    let text = param.description.tomlString
    return [pages.sentParam, pages.sizeParam].compactMap(\.self).first(where: param.isNested).map {
      "\(text) and \($0.description.tomlString), which is a parameter of pages, are one in the other"
    }
  }

  @Rules<DefinitionConflict> fileprivate var formConflicts: [DefinitionConflict] {
    if form == .number, Since.placeholder(in: value)?.form != nil {
      conflict(
        "value", rests: ["form"], problem: "{since:FORM} converts a time, and form is \"number\"", allowed: "{since}")
    }
    if case .time? = overlap, form == .number, token == nil {
      conflict(
        "overlap", rests: ["form"], problem: "is a duration, and form is \"number\"", allowed: "an integer from 1")
    }
    if case .number? = overlap, form != .number {
      conflict(
        "overlap", rests: ["form"], problem: "is an integer, and form is \"\(form.rawValue)\"",
        allowed: "a duration such as \"5m\"")
    }
    if zone != nil, form != .rfc3339 {
      conflict("zone", rests: ["form"], problem: "is for form = \"rfc3339\"", allowed: "no zone")
    }
  }
}
