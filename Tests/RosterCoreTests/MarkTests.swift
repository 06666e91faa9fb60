import FoundationEssentials
import Testing

@testable import RosterCore

struct MarkTests {
  private static func since(
    _ form: TimeForm = .rfc3339, zone: Int? = nil, value: String = "{since}", overlap: Since.Overlap? = nil,
    path: String = "/items"
  ) -> Since {
    Since(
      at: JSONPointer(segments: ["at"]), param: .query("since"), value: value, form: form,
      zone: zone.map { LocalZone(offset: $0) },
      overlap: overlap, listing: listing(path))
  }

  private static func listing(_ path: String) -> Listing {
    Listing(
      path: path, query: [], method: .get, body: .object([]), records: JSONPointer(),
      key: JSONPointer(segments: ["id"]), pages: .init(.one))
  }

  private static func resource(_ since: Since) -> Resource {
    Resource(name: "item", path: "/items", columns: [], since: since)
  }

  @Test(
    "21: a value at since.at is compared as a time, whatever its notation",
    arguments: [
      ("2026-11-23T09:00:00Z", 1_795_424_400_000_000_000), ("2026-11-23 10:00:00.25+01:00", 1_795_424_400_250_000_000),
      ("2026-11-23T09:00:00.000+0000", 1_795_424_400_000_000_000), ("2026-11-23T09:00Z", 1_795_424_400_000_000_000),
      ("2026-11-23", 1_795_392_000_000_000_000), ("1969-12-31T23:59:59.5Z", -500_000_000),
    ] as [(String, Int64)])
  func times(text: String, value: Int64) { #expect(Self.since().mark(text)?.value == value) }

  @Test(
    "21: a value of another form is not a mark",
    arguments: [
      "", "2026-02-30T00:00:00Z", "2026-13-01", "2026-11-23T25:00:00Z", "soon", "2026-11-23T09:00:00X", "1795424400",
    ])
  func refused(text: String) { #expect(Self.since().mark(text) == nil) }

  @Test(
    "21: a time before 1678 is a value, below every other one",
    arguments: [("0001-01-01T00:00:00Z", "1677-12-31T23:55:00Z"), ("1600-02-29", "1677-12-31")])
  func earliest(text: String, start: String) throws {
    let since = Self.since()
    let mark = try #require(since.mark(text))
    #expect(try mark.value < #require(since.mark("1678-01-02")).value)
    #expect(since.rendered(from: mark) == .text(start))
    #expect(since.asks(for: since.mark("0001-01-01T00:00:00Z")?.value, from: mark))
  }

  @Test("21: a time after 2261 is a value, and the mark is then the Date of the answer")
  func latest() throws {
    let since = Self.since()
    let mark = try #require(since.mark("9999-12-31T23:59:59Z"))
    #expect(try mark.value > #require(since.mark("2261-12-31T00:00:00Z")).value)
    #expect(Self.since(.unix).mark("253402300799")?.value == .max)
    var pull = PullExtent()
    pull.add(records: 1, highest: mark, answered: Date(timeIntervalSince1970: 1_795_424_400))
    guard case .moves(let next) = since.move(of: nil, after: pull, isWhole: true, path: "/items") else {
      throw NoMark()
    }
    #expect(next.text == "2026-11-23T09:00:00Z")
  }

  private struct NoMark: Error {}

  @Test(
    "21: a mark is at most the Date of the answer in the years 1678 to 2261, whatever year upstream's clock shows",
    arguments: [
      (253_402_300_799.0, "2026-11-23T09:00:00Z"), (-62_135_596_800, "1678-01-01T00:00:00Z"),
    ] as [(Double, String)], [nil, -5 * 3600])
  func farDates(seconds: (Double, String), zone: Int?) throws {
    let since = Self.since(zone: zone)
    let (answered, expected) = (Date(timeIntervalSince1970: seconds.0), seconds.1)
    let mark = try #require(since.mark("2026-11-23T09:00:00Z"))
    var pull = PullExtent()
    pull.add(records: 1, highest: mark, answered: answered)
    guard case .moves(let next) = since.move(of: nil, after: pull, isWhole: true, path: "/items") else {
      throw NoMark()
    }
    #expect(next.text == expected)
    let local = try #require(since.mark("2026-11-23T09:00:00"))
    #expect(since.isSettled(highest: local, answered: answered) == (seconds.0 > 0))
    var none = PullExtent()
    none.add(records: 1, highest: nil, answered: answered)
    #expect(since.move(of: nil, after: none, isWhole: true, path: "/other") != .unreadable)
  }

  @Test("21: a number of seconds or milliseconds whose fraction has no room is the highest value")
  func fullNumbers() {
    #expect(Self.since(.unix).mark("9223372036.9")?.value == .max)
    #expect(Self.since(.unixMS).mark("9223372036854.9")?.value == .max)
    #expect(Self.since(.unix).mark("-9223372036.9")?.value == -.max)
  }

  @Test(
    "21: a start before the earliest time is that time, in the notation of the record",
    arguments: [
      ("0001-01-01T00:00:00.000Z", .rfc3339, nil, "1677-09-21T00:12:43.145Z"),
      ("0001-01-01T00:00:00", .rfc3339, -5 * 3600, "1677-09-21T00:12:43"),
      ("0001-01-01T00:00:00", .rfc3339, 5 * 3600, "1677-09-21T05:12:43"), ("0001-01-01", .rfc3339, nil, "1677-09-21"),
      ("-99999999999.5", .unix, nil, "-9223372037.1"), ("-99999999999999.5", .unixMS, nil, "-9223372036855.2"),
    ] as [(String, TimeForm, Int?, String)])
  func earliestStart(mark: String, form: TimeForm, zone: Int?, start: String) throws {
    let since = Self.since(form, zone: zone, overlap: .time(.seconds(180 * 86_400)))
    #expect(since.rendered(from: try #require(since.mark(mark))) == .text(start))
  }

  @Test("21: numbers and seconds are read with all their digits")
  func numbers() {
    #expect(Self.since(.number).mark("9223372036854775807")?.value == .max)
    #expect(Self.since(.number).mark("9223372036854775808") == nil && Self.since(.number).mark("1.5") == nil)
    #expect(Self.since(.unix).mark("1795424400.123456")?.value == 1_795_424_400_123_456_000)
    #expect(Self.since(.unixMS).mark("1795424400123")?.value == 1_795_424_400_123_000_000)
  }

  @Test(
    "21, 52: a request starts the overlap before the mark, in the notation of the record",
    arguments: [
      ("2026-11-23T09:00:00Z", "2026-11-23T08:55:00Z"),
      ("2026-11-23 10:00:00.250+01:00", "2026-11-23 09:55:00.250+01:00"),
      ("2026-11-23T00:02:00.000+0000", "2026-11-22T23:57:00.000+0000"), ("2026-11-23", "2026-11-22"),
      ("2026-11-23T09:00", "2026-11-23T08:55"),
    ])
  func overlap(mark: String, start: String) throws {
    let since = Self.since()
    let mark = try #require(since.mark(mark))
    #expect(since.rendered(from: mark) == .text(start))
  }

  @Test(
    "21: an overlap with a fraction of a second is subtracted whole, and the start is rounded down",
    arguments: [
      ("2026-11-23T09:00:00.500Z", 1500, "2026-11-23T08:59:59.000Z"),
      ("2026-11-23T09:00:00.500Z", 1900, "2026-11-23T08:59:58.600Z"),
      ("2026-11-23T09:00:00Z", 1900, "2026-11-23T08:59:58Z"), ("2026-11-23T09:00:00Z", 1000, "2026-11-23T08:59:59Z"),
    ])
  func fraction(mark: String, milliseconds: Int, start: String) throws {
    let since = Self.since(overlap: .time(.milliseconds(milliseconds)))
    let mark = try #require(since.mark(mark))
    #expect(since.rendered(from: mark) == .text(start))
  }

  @Test("21: a key is asked for again until the whole overlap has passed, fractions of a second included")
  func settledFraction() throws {
    let since = Self.since(overlap: .time(.milliseconds(1900)))
    let mark = try #require(since.mark("2026-11-23T09:00:00Z"))
    #expect(!since.isSettled(highest: mark, answered: Date(timeIntervalSince1970: 1_795_424_401)))
    #expect(since.isSettled(highest: mark, answered: Date(timeIntervalSince1970: 1_795_424_402)))
  }

  @Test(
    "52: a number keeps its leading zeros in a request, and is a text in a body then",
    arguments: [
      ("0017", JSONValue.text("0016")), ("0010", .text("0009")), ("0000", .text("-0001")), ("17", .number("16")),
      ("1000", .number("999")), ("0", .number("-1")), ("-17", .number("-18")),
    ])
  func leadingZeros(mark: String, start: JSONValue) throws {
    let since = Self.since(.number)
    #expect(since.rendered(from: try #require(since.mark(mark))) == start)
  }

  @Test(
    "52: {since:FORM} converts the start and rounds down",
    arguments: [
      ("{since:unix}", JSONValue.number("1795424100")), ("{since:unix_ms}", .number("1795424100900")),
      ("{since:date}", .text("2026-11-23")), ("after {since:rfc3339}", .text("after 2026-11-23T08:55:00Z")),
    ])
  func conversion(value: String, rendered: JSONValue) throws {
    let since = Self.since(value: value)
    let mark = try #require(since.mark("2026-11-23T09:00:00.900Z"))
    #expect(since.rendered(from: mark) == rendered)
  }

  @Test("21: without a zone the bound is 12 hours before Date, and only {since:date} converts")
  func withoutZone() throws {
    let mark = try #require(Self.since().mark("2026-11-23T09:00:00"))
    #expect(Self.since(value: "{since:unix}").rendered(from: mark) == nil)
    #expect(Self.since(value: "{since:date}").rendered(from: mark) == .text("2026-11-23"))
    #expect(Self.since(zone: 3600, value: "{since:unix}").rendered(from: mark) != nil)
    let move = Self.since().move(of: nil, after: pull("2026-11-23T09:00:00", seconds: 0), isWhole: true, path: "/items")
    #expect(text(move) == "2026-11-22T21:00:00")
    let zoned = Self.since(zone: 3600)
    let known = zoned.move(
      of: nil, after: pull("2026-11-23T09:00:00", seconds: 0, zone: 3600), isWhole: true, path: "/items")
    #expect(text(known) == "2026-11-23T09:00:00")
  }

  /// A pull of one page, answered that many seconds after 2026-11-23T09:00:00Z.
  private func pull(_ highest: String?, seconds: Double, zone: Int? = nil, records: Int = 3) -> PullExtent {
    var pull = PullExtent()
    pull.add(
      records: records, highest: highest.flatMap(Self.since(zone: zone).mark),
      answered: Date(timeIntervalSince1970: 1_795_424_400 + seconds))
    return pull
  }

  private func text(_ move: Since.MarkMove) -> String? {
    if case .moves(let mark) = move { mark.text } else { nil }
  }

  @Test(
    "21: the mark is the highest value, and at most the Date of the oldest answer, in the record's notation")
  func bound() {
    let since = Self.since()
    var late = pull("2026-11-23T09:00:00.5+00:00", seconds: 60)
    #expect(text(since.move(of: nil, after: late, isWhole: true, path: "/items")) == "2026-11-23T09:00:00.5+00:00")
    late.add(records: 1, highest: nil, answered: Date(timeIntervalSince1970: 1_795_424_390.9))
    #expect(text(since.move(of: nil, after: late, isWhole: true, path: "/items")) == "2026-11-23T08:59:50.0+00:00")
    let future = pull("2999-01-01T00:00:00Z", seconds: 0)
    #expect(text(since.move(of: nil, after: future, isWhole: true, path: "/items")) == "2026-11-23T09:00:00Z")
    let ahead = pull("2027-01-01T00:00:00Z", seconds: 0)
    #expect(text(since.move(of: nil, after: ahead, isWhole: true, path: "/items")) == "2026-11-23T09:00:00Z")
  }

  @Test("21: only a whole pull lowers the mark, and a pull without records leaves it")
  func lowered() throws {
    let since = Self.since()
    let mark = try #require(since.mark("2026-11-23T10:00:00Z"))
    let older = pull("2026-11-23T08:00:00Z", seconds: 0)
    #expect(since.move(of: mark, after: older, isWhole: false, path: "/items") == .stays)
    #expect(text(since.move(of: mark, after: older, isWhole: true, path: "/items")) == "2026-11-23T08:00:00Z")
    #expect(since.move(of: mark, after: pull(nil, seconds: 0, records: 0), isWhole: true, path: "/items") == .stays)
  }

  @Test("21: records without a value are malformed, except in a whole pull of another path")
  func withoutValue() {
    #expect(Self.since().move(of: nil, after: pull(nil, seconds: 0), isWhole: true, path: "/items") == .unreadable)
    let other = Self.since(path: "/changes")
    #expect(
      text(other.move(of: nil, after: pull(nil, seconds: 0), isWhole: true, path: "/items")) == "2026-11-23T09:00:00Z")
    #expect(other.move(of: nil, after: pull(nil, seconds: 0), isWhole: false, path: "/items") == .unreadable)
  }

  @Test("21: a list is pulled whole without a mark, when whole_every has passed, and after another question")
  func whole() throws {
    let since = Self.since()
    let now = Date(timeIntervalSince1970: 1_795_424_400)
    func next(_ age: Double, mark: String? = "2026-11-23T08:00:00Z", isSame: Bool = true) -> NextPull {
      since.nextPull(after: SinceHistory(mark: mark, wholeAt: now - age, isSameQuestion: isSame), now: now)
    }
    let mark = SinceStart.mark(try #require(since.mark("2026-11-23T08:00:00Z")))
    #expect(next(0) == .incremental(from: mark) && next(86_399) == .incremental(from: mark))
    #expect(next(86_400) == .wholeOrLater(from: mark, isLate: false) && next(-1) == next(86_400))
    #expect(next(0, mark: nil) == .whole && next(0, mark: "no time") == .whole && next(0, isSame: false) == .whole)
    #expect(next(172_801) == .wholeOrLater(from: mark, isLate: true))
    var never = since
    never.wholeEvery = nil
    let history = SinceHistory(mark: "2026-11-23T08:00:00Z", wholeAt: now - 1e9, isSameQuestion: true)
    #expect(never.nextPull(after: history, now: now) == .incremental(from: mark))
  }

  @Test("47: upstream ignores since.param if it lists records from more than two days before the start")
  func ignored() throws {
    let numbers = Self.since(.number, overlap: .number(5))
    let twelve = try #require(numbers.mark("12"))
    #expect(numbers.isIgnored(from: twelve, lowest: 6) && !numbers.isIgnored(from: twelve, lowest: 7))
    #expect(!numbers.isIgnored(from: twelve, lowest: nil))
    let times = Self.since()
    let mark = try #require(times.mark("2026-11-23T08:05:00Z"))
    let day = try #require(times.mark("2026-11-21T08:00:00Z"))
    #expect(!times.isIgnored(from: mark, lowest: day.value) && times.isIgnored(from: mark, lowest: day.value - 1))
  }

  @Test("21: the start is put into the query or the body, and from into a whole pull")
  func requests() throws {
    var since = Self.since(.number, overlap: .number(5))
    since.from = "0"
    since.listing.query = [.init("since", .text("x")), .init("sort", .text("id"))]
    let twelve = try #require(since.mark("12"))
    let resource = Self.resource(since)
    #expect(resource.askedWhole.query == [.init("since", .text("0"))])
    let asked = try #require(resource.readIncrementally.starting(from: .mark(twelve)))
    #expect(asked.query == [.init("sort", .text("id")), .init("since", .text("7"))])
    since.param = .body(JSONPointer(segments: ["filters", "0", "value"]))
    since.listing.body = .object([.init("filters", .list([.object([.init("name", .text("id"))])]))])
    let posted = try #require(Self.resource(since).readIncrementally.starting(from: .mark(twelve)))
    #expect(posted.body["filters"] == .list([.object([.init("name", .text("id")), .init("value", .number("7"))])]))
  }
}
