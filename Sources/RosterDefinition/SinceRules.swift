import RosterCore

/// `[resource.NAME.since]`, in its definition.
struct WrittenSince {
  let definition: WrittenDefinition
  let since: Since

  init?(_ definition: WrittenDefinition) {
    guard let since = definition.resource.since else { return nil }
    (self.definition, self.since) = (definition, since)
  }

  static var rules: [KeyRule<WrittenSince>] { startRules + formRules + askRules + pagesRules }

  private static var startRules: [KeyRule<WrittenSince>] {
    [
      .missing(
        "since.at", beside: ["since.token"], of: "F3.1", allowed: "the place of a record's last change, or token"
      ) {
        $0.since.place == nil && $0.since.token == nil
      },
      .excludes("since.token", "since.at", of: "F3.1") { $0.since.place != nil && $0.since.token != nil },
      .key("since.param", of: "F3.1", "\"*\" is for pages", allowed: WrittenPages.parameter) {
        $0.since.param == .everyMember
      },
      .missing("since.param", beside: ["since.pages", "since.token"], of: "F3.1", allowed: startPlace) {
        $0.since.param == nil && $0.since.token == nil && !$0.since.startsInPages
      },
      .key("since", beside: ["pages"], of: "F3.1", "the style \"record\" has no list of changed records") {
        $0.definition.resource.pages.style.kind.isRecord || $0.pages.style.kind.isRecord
      },
      .each(["since.token"], of: "F3.2") { written in
        Since.keysOfMarks.filter { written.since.token != nil && written.has($0) }.map {
          .init(of: "since.\($0)", problem: "is for at, and not for token", allowed: "no \($0)")
        }
      },
      .key("since.value", beside: ["since.token"], of: "F3.2", noForm("{since} is the token"), allowed: "{since}") {
        $0.since.token != nil && $0.hasForm
      },
      .key("since.value", beside: ["since.param"], of: "F3.2", "has no effect without param: the token is an address") {
        $0.has("value") && $0.since.token != nil && $0.since.param == nil
      },
      .key(
        "since.whole_every", beside: ["removal"], of: "F3.5", "\"never\" needs removal = \"never\"",
        allowed: "a duration: only a whole pull finds removed records"
      ) { $0.since.wholeEvery == nil && !$0.definition.resource.removal.keeps },
    ]
  }

  private static var formRules: [KeyRule<WrittenSince>] {
    [
      .key("since.value", beside: ["since.form"], of: "F3.2", noForm("form is \"number\""), allowed: "{since}") {
        $0.since.form == .number && $0.hasForm
      },
      .key(
        "since.overlap", beside: ["since.form", "since.token"], of: "F3.3",
        allowed: "an integer with form = \"number\", else a duration such as \"5m\""
      ) { $0.problemOfOverlap },
      .key("since.zone", beside: ["since.form"], of: "F3.3", "is for form = \"rfc3339\" and \"compact\"") {
        $0.since.zone != nil && $0.since.form != .rfc3339 && $0.since.form != .compact
      },
      .key(
        "since.form", beside: ["since.at"], of: "F3.6", "is no time, and at is header:Date", allowed: "a form of times"
      ) { $0.since.isDated && $0.since.form == .number },
      .each(["since.param"], of: "F3.6", allowed: "one line of text") { written in
        [("value", written.since.value), ("from", written.since.from ?? "")].compactMap { key, text in
          guard written.since.startsInHeader, let mistake = HeaderText.mistake(in: text) else { return nil }
          return .init(of: "since.\(key)", problem: "\(mistake), and param is a header")
        }
      },
    ]
  }

  private static var askRules: [KeyRule<WrittenSince>] {
    [
      .needs("since.ask", "by_key", of: "F3.4") { $0.since.asks && $0.definition.resource.byKey == nil },
      .missing("since.key", beside: ["since.ask"], of: "F3.4", allowed: "the place of the key in the incremental list")
      {
        $0.since.asks && !$0.has("key")
      },
      .key("since.key", beside: ["since.ask"], of: "F3.4", "is for ask = true") { !$0.since.asks && $0.has("key") },
      .key("since.key", beside: ["since.ask", "key"], of: "F3.4", allowed: "as many places as key has") {
        let (places, own) = ($0.definition.resource.keyPlaces.count, $0.since.listing.keyPlaces.count)
        return $0.since.asks && $0.has("key") && own != places ? "has another number of places than key" : nil
      },
      .needs("since.row_names", "since.shape = \"rows\"", of: "F3.4") {
        !$0.since.listing.shape.isRows && $0.has("row_names")
      },
    ]
  }

  /// Rules of a start inside `pages.value`.
  private static var pagesRules: [KeyRule<WrittenSince>] {
    [
      .key("since.pages", of: "F3.7", "its value has {since} twice", allowed: "one {since} or {since:FORM}") {
        $0.since.startsInPages && $0.starts > 1
      },
      .key("since.pages", beside: ["since.param", "since.token"], of: "F3.7", allowed: "no {since} in its value") {
        $0.starts == 0 || $0.since.startsInPages
          ? nil : "its value has {since} beside \($0.since.param == nil ? "token" : "param")"
      },
      .key("since.pages", of: "F3.7", "its first request has no value", allowed: "number, offset, or cursor with start")
      {
        let step = $0.pages.style.kind.step
        let hasStart = step != .sends(.ofLastRecord) && (step != .sends(.ofAnswer) || $0.pages.style.start != nil)
        return $0.since.startsInPages && !hasStart
      },
      .key("since.value", beside: ["since.pages"], of: "F3.7", "has no effect without param") {
        $0.since.startsInPages && $0.has("value")
      },
      .key(
        "pages.value", beside: ["since.from", "since.param"], of: "F3.7",
        "has {since}, which a whole pull does not fill", allowed: "since.from, or {since} in since.pages.value"
      ) { $0.isFilledInWhole && ($0.since.from == nil || $0.since.param != nil) },
      .key("since.from", beside: ["since.pages"], of: "F3.7", "has no effect without {since} in pages.value") {
        $0.since.startsInPages && $0.since.from != nil && !$0.isFilledInWhole
      },
    ]
  }

  private static let startPlace = "\(WrittenPages.parameter), or {since} in since.pages.value"

  private static func noForm(_ reason: String) -> String { "{since:FORM} converts a time, and \(reason)" }

  private func has(_ key: String) -> Bool { definition.has("since.\(key)") }

  private var pages: Resource.Pages { since.listing.pages }

  private var hasForm: Bool { Since.placeholder(in: since.value)?.form != nil }

  /// Number of `{since` in `pages.value`.
  private var starts: Int {
    (pages.valueText ?? "").split(separator: "{since", omittingEmptySubsequences: false).count - 1
  }

  private var isFilledInWhole: Bool {
    definition.resource.pages.valueText.map { Since.placeholder(in: $0) != nil } == true
  }

  private var problemOfOverlap: String? {
    let problem: String? =
      switch since.overlap {
      case .time(let time) where since.form == .compact && time < Since.minCompactOverlap: "is less than a day"
      case .time where has("overlap") && since.form == .number && since.token == nil: "is a duration"
      case .number where has("overlap") && since.form != .number: "is an integer"
      case .time, .number: nil
      }
    return problem.map { "\($0), and form is \(since.form.rawValue.tomlString)" }
  }
}
