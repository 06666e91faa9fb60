import RosterModel

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
    if !(since.shape ?? shape).isRows, since.rowNames.map({ !$0.isWhole }) == true {
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
