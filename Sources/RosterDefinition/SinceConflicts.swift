import RosterModel

extension WrittenDefinition {
  /// Mistakes in `since` that the contract refuses (F3).
  @Rules<DefinitionConflict> var sinceConflicts: [DefinitionConflict] {
    if let since = resource.since {
      if since.place == nil, since.token == nil {
        since.conflict(
          "at", problem: "is missing", allowed: "the place of the time of a record's last change, or token")
      }
      if since.place != nil, since.token != nil {
        since.conflict("token", rests: ["at"], problem: "stands beside at", allowed: "at or token")
      }
      if since.token != nil, Since.placeholder(in: since.value)?.form != nil {
        since.conflict(
          "value", rests: ["token"], problem: "{since:FORM} converts a time, and {since} is the token",
          allowed: "{since}")
      }
      tokenConflicts(since)
      askConflicts(since)
      if since.param == nil, since.token == nil, !since.startsInPages {
        since.conflict(
          "param", rests: ["pages"], problem: "is missing",
          allowed: "\(Resource.Pages.parameter), or {since} in since.pages.value")
      }
      startConflicts(since)
      formConflicts(since)
      if since.wholeEvery == nil, !resource.removal.keeps {
        since.conflict(
          "whole_every",
          problem: "\"never\" needs removal = \"never\", because only a whole pull finds removed records",
          allowed: "a duration, or removal = \"never\"")
      }
      paramConflicts(since)
      if has("since", "pages") { pagesConflicts(since.listing.pages, below: ["since", "pages"]) }
    }
  }

  @Rules<DefinitionConflict> private func tokenConflicts(_ since: Since) -> [DefinitionConflict] {
    if since.token != nil {
      for name in Since.keysOfMarks where has("since", name) {
        DefinitionConflict(path: ["since", name], problem: "is for at, and not for token", allowed: "no \(name)")
      }
      if has("since", "value"), since.param == nil {
        DefinitionConflict(
          path: ["since", "value"], problem: "has no effect without param: the token is an address", allowed: "no value"
        )
      }
    }
  }

  @Rules<DefinitionConflict> private func askConflicts(_ since: Since) -> [DefinitionConflict] {
    let hasKey = has("since", "key")
    if since.asks, resource.byKey == nil {
      since.conflict("ask", problem: "needs by_key of the resource", allowed: "false, or by_key")
    }
    if since.asks, !hasKey {
      since.conflict(
        "key", rests: ["ask"], problem: "is missing", allowed: "the place of the key in the incremental list")
    }
    if !since.asks, hasKey {
      since.conflict("key", rests: ["ask"], problem: "is for ask = true", allowed: "no key")
    }
    if since.asks, hasKey, since.listing.keyPlaces.count != resource.keyPlaces.count {
      since.conflict(
        "key", rests: ["ask"], problem: "has another number of places than the key of the resource",
        allowed: "\(resource.keyPlaces.count)")
    }
    if !since.listing.shape.isRows, has("since", "row_names") {
      since.conflict("row_names", rests: ["shape"], problem: "needs shape = \"rows\"", allowed: "no row_names")
    }
  }

  @Rules<DefinitionConflict> private func paramConflicts(_ since: Since) -> [DefinitionConflict] {
    let requests = requests(with: since)
    if since.param == .everyMember {
      since.conflict("param", problem: "\"*\" is for pages", allowed: Resource.Pages.parameter)
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
      since.conflict(
        "param", problem: problem, allowed: "a parameter of its own, or no param and {since} in since.pages.value")
    }
  }

  /// Mistakes of a start inside `pages.value` (F3.7).
  @Rules<DefinitionConflict> private func startConflicts(_ since: Since) -> [DefinitionConflict] {
    let pages = since.listing.pages
    let starts = (pages.valueText ?? "").split(separator: "{since", omittingEmptySubsequences: false).count - 1
    if since.startsInPages {
      if starts > 1 {
        since.conflict("pages", problem: "its value has {since} twice", allowed: "one {since} or {since:FORM}")
      }
      if has("since", "value") {
        since.conflict("value", rests: ["pages"], problem: "has no effect without param", allowed: "no value")
      }
      if pages.style.kind.step == .sends(.ofLastRecord)
        || pages.style.kind.step == .sends(.ofAnswer) && pages.style.start == nil
      {
        since.conflict(
          "pages", problem: "the first request of the style \(pages.style.kind.name.tomlString) has no value",
          allowed: "number, offset, or cursor with start")
      }
    } else if starts > 0 {
      since.conflict(
        "pages", rests: ["param"], problem: "its value has {since} beside \(since.param == nil ? "token" : "param")",
        allowed: "{since} in since.value, or in since.pages.value without param")
    }
    let whole = resource.pages.valueText.map { Since.placeholder(in: $0) != nil } == true
    if whole, since.from == nil || since.param != nil {
      DefinitionConflict(
        path: ["pages", "value"], restsOn: [["since", "from"], ["pages", "value"]],
        problem: "has {since}, which a whole pull does not fill", allowed: "since.from, or {since} in since.pages.value"
      )
    }
    if since.startsInPages, since.from != nil, !whole {
      since.conflict(
        "from", rests: ["pages"], problem: "has no effect without {since} in pages.value", allowed: "no from")
    }
  }

  /// The requests that contain `param`: those of an incremental pull, and with `from` those of a whole pull.
  private func requests(
    with since: Since
  ) -> [Listing] {
    since.from == nil ? [since.listing] : [since.listing, resource.listing]
  }

  @Rules<DefinitionConflict> private func formConflicts(_ since: Since) -> [DefinitionConflict] {
    let hasOverlap = has("since", "overlap")
    if since.form == .number, Since.placeholder(in: since.value)?.form != nil {
      since.conflict(
        "value", rests: ["form"], problem: "{since:FORM} converts a time, and form is \"number\"", allowed: "{since}")
    }
    if hasOverlap, case .time = since.overlap, since.form == .number, since.token == nil {
      since.conflict(
        "overlap", rests: ["form"], problem: "is a duration, and form is \"number\"", allowed: "an integer from 1")
    }
    if hasOverlap, case .number = since.overlap, since.form != .number {
      since.conflict(
        "overlap", rests: ["form"], problem: "is an integer, and form is \"\(since.form.rawValue)\"",
        allowed: "a duration such as \"5m\"")
    }
    if since.zone != nil, since.form != .rfc3339, since.form != .compact {
      since.conflict(
        "zone", rests: ["form"], problem: "is for form = \"rfc3339\" and \"compact\"", allowed: "no zone")
    }
    if case .time(let time) = since.overlap, since.form == .compact, time < Since.minCompactOverlap {
      since.conflict(
        "overlap", rests: ["form"], problem: "is less than a day, and form is \"compact\"", allowed: "1d or more")
    }
    if since.isDated, since.form == .number {
      since.conflict("form", rests: ["at"], problem: "is no time, and at is header:Date", allowed: "a form of times")
    }
    for (name, text) in [("value", since.value), ("from", since.from ?? "")] where since.startsInHeader {
      if let mistake = HeaderText.mistake(in: text) {
        since.conflict(
          name, rests: ["param"], problem: "\(mistake), and param is a header", allowed: "one line of text")
      }
    }
  }
}

extension Since {
  fileprivate func conflict(
    _ name: String, rests: [String] = [], problem: String, allowed: String
  ) -> DefinitionConflict {
    DefinitionConflict(
      path: ["since", name], restsOn: ([name] + rests).map { ["since", $0] }, problem: problem, allowed: allowed)
  }

  /// A clause if a request cannot send both `param` and the parameters of `pages`.
  fileprivate func problem(beside pages: Resource.Pages) -> String? {
    guard let param else { return nil }
    // A cursor may begin with the delta token.
    if token == nil && param == pages.style.param || param == pages.sizeParam { return "is a parameter of pages too" }
    let text = param.description.tomlString
    return [pages.style.param, pages.sizeParam].compactMap(\.self).first(where: param.isNested).map {
      "\(text) and \($0.description.tomlString), which is a parameter of pages, are one in the other"
    }
  }
}
