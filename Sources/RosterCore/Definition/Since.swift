package import FoundationEssentials

/// How the records that changed are asked for: `[resource.NAME.since]`.
package struct Since: Sendable, Equatable {
  /// How far before the mark an incremental pull starts.
  package enum Overlap: Sendable, Equatable {
    case time(Duration)
    case number(Int64)
  }

  /// Place of the value in a record whose maximum becomes the mark; nil with a delta token, and if records have none.
  package var at: JSONPointer?
  /// True if the mark is the `Date` of the pull's first answer, because records have no time.
  package var isDated = false
  /// Place of the delta token on the last page; nil with a mark.
  package var token: Resource.AnswerPlace?
  /// Place of the start in a request; nil if the delta token is an address.
  package var param: Resource.RequestPlace?
  /// Template of the value of `param`: a text with `{since}` or `{since:FORM}`.
  package var value: String
  /// Form of the values at `at`.
  package var form: TimeForm
  /// Zone of times without one; nil if unknown.
  package var zone: LocalZone?
  /// How far before the mark an incremental pull starts.
  package var overlap: Overlap
  /// Value of `param` in a whole pull; nil if a whole pull does not set it.
  package var from: String?
  /// Maximum time between two whole pulls; nil if only the first pull is whole.
  package var wholeEvery: Duration?
  /// True if the incremental list has keys only, and `by_key` is asked for each of them.
  package var asks: Bool
  /// The question of an incremental pull, complete but for `param`.
  package var listing: Listing

  /// Defaults as rosterd.toml(5) has them.
  package init(
    at: JSONPointer? = nil, isDated: Bool = false, token: Resource.AnswerPlace? = nil,
    param: Resource.RequestPlace? = nil,
    value: String = "{since}", form: TimeForm = .rfc3339, zone: LocalZone? = nil, overlap: Overlap? = nil,
    from: String? = nil,
    wholeEvery: Duration? = Self.usualWhole, asks: Bool = false, listing: Listing
  ) {
    self.at = at
    self.isDated = isDated
    self.token = token
    self.param = param
    self.value = value
    self.form = form
    self.zone = zone
    self.overlap = overlap ?? Self.usualOverlap(form)
    self.from = from
    self.wholeEvery = wholeEvery
    self.asks = asks
    self.listing = listing
  }

  /// The default of `overlap`.
  package static func usualOverlap(_ form: TimeForm) -> Overlap {
    switch form {
    case .number: .number(1)
    // Its values are days.
    case .compact: .time(minCompactOverlap)
    case .rfc3339, .unix, .unixMS, .http, .dotnet: .time(.seconds(300))
    }
  }

  /// The least `overlap` of days.
  package static let minCompactOverlap = Duration.seconds(86_400)

  /// The default of `value`. If-Modified-Since is an HTTP date (RFC 9110 §13.1.3).
  package static func usualValue(_ param: Resource.RequestPlace?) -> String {
    if case .header(let name)? = param, name.lowercased() == "if-modified-since" { "{since:http}" } else { "{since}" }
  }

  /// The place of the mark as the configuration has it: in a record, or `header:Date`.
  package var place: Resource.AnswerPlace? {
    get { isDated ? .header(Self.dateHeader) : at.map { .body($0) } }
    set {
      switch newValue {
      case .body(let pointer)?: (at, isDated) = (pointer, false)
      case .header?, .entry?: (at, isDated) = (nil, true)
      case nil: (at, isDated) = (nil, false)
      }
    }
  }

  /// The header with the time of an answer (RFC 9110 §6.6.1).
  package static let dateHeader = "Date"

  /// True if the start is inside the value of the page's parameter, `pages.value`, and has no parameter of its own.
  package var startsInPages: Bool {
    param == nil && token == nil && listing.pages.valueText.map { Self.placeholder(in: $0) != nil } == true
  }

  /// True if the request of an incremental pull has its start in a header, which makes it conditional.
  package var startsInHeader: Bool { if case .header? = param { true } else { false } }

  /// The default of `whole_every`.
  package static let usualWhole = Duration.seconds(86_400)

  /// A value at `at`; nil if it has another form.
  package func mark(_ text: String) -> Mark? { Mark(text, form: form, zone: zone) }

  /// The value at which an incremental pull starts.
  package func start(of mark: Mark) -> Int64 { start(of: mark.value, hasZone: mark.hasZone) }

  private func start(of value: Int64, hasZone: Bool) -> Int64 {
    let clockChange = hasZone ? 0 : (zone?.maxClockChange ?? 0) * Timestamp.second
    let (start, isBelow) = value.subtractingReportingOverflow(distance + clockChange)
    return isBelow ? .min : start
  }

  /// `overlap` in the unit of `Mark.value`. A time is at most 100 years.
  private var distance: Int64 {
    switch overlap {
    case .time(let time): time.components.seconds * Timestamp.second + time.components.attoseconds / 1_000_000_000
    case .number(let number): number
    }
  }

  /// True if an incremental pull from that mark asks for a record with that value.
  package func asks(for value: Int64?, from mark: Mark) -> Bool { value.map { $0 >= start(of: mark) } ?? false }
}

// MARK: The mark

/// Facts of a pull of a list that the mark depends on.
package struct PullExtent: Sendable, Equatable {
  /// Number of records, skipped and rejected ones included.
  package private(set) var records = 0
  /// Number of skipped records. One may be a mere note that a record was deleted.
  package private(set) var skipped = 0
  /// The highest value at `since.at`; nil if no record has one.
  package private(set) var highest: Mark?
  /// True if a record has no readable value at `since.at`, and not null either.
  package private(set) var hasOtherMark = false
  /// The oldest `Date` of the answers.
  package private(set) var oldest: Date?
  /// The lowest value at `since.at` on the transferred pages of an incremental pull.
  package private(set) var lowest: Int64?
  /// Number of pages that were transferred.
  package private(set) var transferred = 0

  /// Nothing seen yet.
  package init() {}

  /// Adds a page. `answered` is the `Date` of its answer.
  package mutating func add(
    records: Int, skipped: Int = 0, highest: Mark?, hasOtherMark: Bool = true, answered: Date?, lowest: Int64? = nil,
    isTransferred: Bool = true
  ) {
    self.records += records
    self.hasOtherMark = self.hasOtherMark || hasOtherMark
    self.skipped += skipped
    if isTransferred { transferred += 1 }
    if let lowest { self.lowest = min(self.lowest ?? lowest, lowest) }
    if let highest, self.highest.map({ highest.value > $0.value }) ?? true { self.highest = highest }
    if let answered { oldest = min(oldest ?? answered, answered) }
  }
}

extension Since {
  /// The change of the mark after a pull.
  package enum MarkMove: Sendable, Equatable {
    case stays
    case moves(Mark)
    /// The delta token of the last page.
    case token(String)
    /// No record has a value of the named form.
    case unreadable
  }

  /// The rule of the mark: the highest value of the pull, but never above the `Date` of its oldest answer.
  /// - Parameter path: That of whole pulls.
  package func move(of mark: Mark?, after pull: PullExtent, isWhole: Bool, path: String) -> MarkMove {
    if pull.records == 0 { return .stays }
    let answered = pull.oldest.map(Timestamp.seconds(of:))
    if isDated { return dated(answered, mark: mark, isWhole: isWhole) }
    guard let highest = pull.highest else {
      guard isWhole, path != listing.path, form != .number, let answered else {
        // A record has no time before its first change.
        return pull.hasOtherMark && pull.records > pull.skipped ? .unreadable : .stays
      }
      return .moves(Mark(answered, like: mark?.text ?? "", form: form, zone: zone))
    }
    var next = highest
    if form != .number, let answered {
      let bound = bound(of: highest, answered: answered)
      if highest.value > bound { next = Mark(bound, like: highest.text, form: form, zone: zone) }
    }
    if !isWhole, let mark, next.value <= mark.value { return .stays }
    return next == mark ? .stays : .moves(next)
  }

  /// The mark of a pull whose records have no time: the `Date` of its first answer.
  private func dated(_ answered: Int64?, mark: Mark?, isWhole: Bool) -> MarkMove {
    guard let answered else { return .stays }
    let next = Mark(answered, like: mark?.text ?? "", form: form, zone: zone)
    if !isWhole, let mark, next.value <= mark.value { return .stays }
    return next == mark ? .stays : .moves(next)
  }

  /// True if no record of a page can have changed after the page's answer without another value at `at`.
  /// - Parameter highest: The highest value at `at` on the page.
  package func isSettled(highest: Mark?, answered: Date) -> Bool {
    guard at != nil, case .time = overlap, let highest else { return true }
    return highest.value
      <= start(
        of: bound(of: highest, answered: Timestamp.seconds(of: answered)), hasZone: highest.hasZone)
  }

  /// The highest value that a record can have at the time of an answer.
  private func bound(of mark: Mark, answered: Int64) -> Int64 {
    mark.hasZone || zone != nil ? answered : answered - Self.farthestZone
  }

  /// The farthest that a zone is from UTC.
  private static let farthestZone = 12 * 3600 * Timestamp.second
}

// MARK: Whole or incremental

/// Facts in the cache about earlier pulls of a list with `since`.
package struct SinceHistory: Sendable, Equatable {
  /// All changes up to it are in the cache; nil if there is no mark.
  package var mark: String?
  /// When a whole pull was last published or verified.
  package var wholeAt: Date?
  /// The delta token of the last pull; nil with a mark, and before the first pull.
  package var token: String?
  /// True if the definition asks the same question as then.
  package var isSameQuestion: Bool
  /// True if the last whole pull could not ask for all missing records, so that another one is due.
  package var isUnsettled: Bool

  /// The history of a list.
  package init(
    mark: String?, token: String? = nil, wholeAt: Date?, isSameQuestion: Bool, isUnsettled: Bool = false
  ) {
    self.mark = mark
    self.token = token
    self.wholeAt = wholeAt
    self.isSameQuestion = isSameQuestion
    self.isUnsettled = isUnsettled
  }
}

/// The start of an incremental pull.
package enum SinceStart: Sendable, Equatable {
  case mark(Mark)
  case token(String)

  /// The delta token; nil for a mark.
  package var token: String? {
    if case .token(let token) = self { token } else { nil }
  }

  /// The text in the cache.
  package var stored: String {
    switch self {
    case .mark(let mark): mark.text
    case .token(let token): token
    }
  }
}

/// The next pull of a list with `since`.
package enum NextPull: Sendable, Equatable {
  /// Whole, since nothing is known to start from.
  case whole
  /// Whole, because `whole_every` has passed. If the budget does not allow it, it is incremental from that mark; it is
  /// late above twice `whole_every`.
  case wholeOrLater(from: SinceStart, isLate: Bool)
  /// The records that changed since that mark or delta token.
  case incremental(from: SinceStart)
}

extension Since {
  /// Decides whether the next pull is whole. If the last whole pull is in the future, its age is unknown,
  /// because the clock was wrong.
  /// - Parameter isDue: True if `each.whole_every` asks for a whole pull.
  package func nextPull(after history: SinceHistory, now: Date, isDue: Bool = false) -> NextPull {
    guard history.isSameQuestion, let start = start(after: history), let wholeAt = history.wholeAt else {
      return .whole
    }
    let age = now.timeIntervalSince(wholeAt)
    let period = wholeEvery?.seconds ?? .infinity
    let isDue = isDue || history.isUnsettled
    if !isDue, (0..<period).contains(age) || wholeEvery == nil { return .incremental(from: start) }
    return .wholeOrLater(from: start, isLate: age > 2 * period)
  }

  private func start(after history: SinceHistory) -> SinceStart? { start(token == nil ? history.mark : history.token) }

  /// The start of an incremental pull at a stored mark or delta token; nil if it cannot be read.
  package func start(_ stored: String?) -> SinceStart? {
    guard let stored else { return nil }
    return token == nil ? mark(stored).map(SinceStart.mark) : .token(stored)
  }

  /// True if upstream sends records that are far older than the start of an incremental pull, as if it had not read
  /// `param`. A filter may be as coarse as a day, and may read times in another zone.
  package func isIgnored(from mark: Mark, lowest: Int64?) -> Bool {
    let slack = form == .number ? 0 : 48 * 3600 * Timestamp.second
    let (limit, isBelow) = start(of: mark).subtractingReportingOverflow(slack)
    guard let lowest, !isBelow else { return false }
    return lowest < limit
  }
}

// MARK: Requests

extension Since {
  /// The reason why a start cannot be written into a request.
  package static let unknownZone = "its times have no zone, so that the mark cannot be converted"
}

extension Resource {
  /// Beginning of the addresses by which the pages of incremental pulls are known.
  package static let incrementalPrefix = "since "

  /// The resource as a whole pull asks for it.
  package var askedWhole: Resource {
    guard let since, let from = since.from else { return self }
    var asked = self
    if let param = since.param {
      asked.listing.set(param, value: .text(from))
    } else if let value = listing.pages.valueText {
      asked.pages.valueText = Since.filled(value, with: from)
    }
    return asked
  }

  /// This resource with the start in its request (`readIncrementally`). nil without `since`, or if the start cannot be
  /// converted because the zone is unknown.
  package func starting(from start: SinceStart) -> Resource? {
    guard let since else { return nil }
    var asked = self
    if since.startsInPages, case .mark(let mark) = start, let template = asked.pages.valueText {
      guard let value = since.rendered(from: mark, in: template) else { return nil }
      asked.pages.valueText = value.queryText
      return asked
    }
    guard let param = since.param else { return asked }
    switch start {
    case .mark(let mark):
      guard let value = since.rendered(from: mark) else { return nil }
      asked.listing.set(param, value: value)
    case .token(let token): asked.listing.set(param, value: .text(since.rendered(token)))
    }
    return asked
  }

  /// The resource as the pages of an incremental pull are read. A list of keys has the columns of the key only.
  package var readIncrementally: Resource {
    guard let since else { return self }
    var read = self
    read.listing = since.listing
    guard since.asks, let keyColumns else { return read }
    read.columns = zip(keyColumns, read.keyPlaces).map { Column(columns[$0].name, at: $1, columns[$0].type) }
    (read.conditions, read.lists, read.search) = ([], [], [])
    return read
  }
}

extension Since {
  /// The value of `param` for a delta token.
  fileprivate func rendered(_ token: String) -> String {
    Self.filled(value, with: token)
  }

  /// The text with its placeholder of the start replaced.
  fileprivate static func filled(_ text: String, with start: String) -> String {
    guard let (range, _) = placeholder(in: text) else { return text }
    return text.replacingCharacters(in: range, with: start)
  }

  /// The value of `param`; nil if the zone of the mark is unknown and its conversion needs it.
  package func rendered(from mark: Mark) -> JSONValue? { rendered(from: mark, in: value) }

  /// - Parameter value: The template.
  fileprivate func rendered(from mark: Mark, in value: String) -> JSONValue? {
    let start = start(of: mark)
    guard let (range, form) = Self.placeholder(in: value) else { return .text(value) }
    let isKnown = mark.hasZone || zone != nil
    let text: String
    switch form.map(String.init) {
    case nil: text = Mark(start, like: mark.text, form: self.form, zone: zone).text
    case TimeForm.day?: text = Timestamp.day(of: start)
    case .some(let form):
      guard isKnown, let form = TimeForm(rawValue: form) else { return nil }
      text = Timestamp.text(of: start, form)
    }
    // A number with leading zeros is no number in JSON. A day without hyphens is a text.
    let isNumber = (form.map { TimeForm(rawValue: String($0)) } ?? self.form) != .compact
    if isNumber, range == value.startIndex..<value.endIndex, let number = Int64(text), "\(number)" == text {
      return .number(text)
    }
    return .text(value.replacingCharacters(in: range, with: text))
  }

  /// The place of `{since}` or `{since:FORM}`, and FORM.
  package static func placeholder(in text: String) -> (range: Range<String.Index>, form: Substring?)? {
    // Runs for each list of a sync, and a `Regex` is compiled at each use.
    for open in text.indices where text[open...].hasPrefix("{since") {
      guard let end = text[open...].firstIndex(of: "}") else { return nil }
      let range = open..<text.index(after: end)
      let form = text[text.index(open, offsetBy: 6)..<end]
      if form.isEmpty { return (range, nil) }
      if forms.contains(form) { return (range, form.dropFirst()) }
    }
    return nil
  }

  private static let forms = Set(TimeForm.written.map { Substring(":\($0.rawValue)") } + [":\(TimeForm.day)"])
}

extension String {
  fileprivate func replacingCharacters(in range: Range<String.Index>, with text: String) -> String {
    String(self[..<range.lowerBound]) + text + String(self[range.upperBound...])
  }
}

extension Listing {
  /// Sets a parameter: another one of that name is replaced.
  mutating func set(_ place: Resource.RequestPlace, value: JSONValue) {
    switch place {
    case .query(let name):
      query.removeAll { $0.name == name }
      query.append(Resource.Parameter(name, .text(value.queryText)))
    case .body(let pointer): body = body.setting(value, at: pointer)
    case .header(let name):
      headers.removeAll { $0.name.lowercased() == name.lowercased() }
      headers.append(Request.Header(name, value.queryText))
    case .path, .everyMember: break
    }
  }
}
