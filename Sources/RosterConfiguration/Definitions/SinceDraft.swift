import RosterFiles
import RosterModel

/// The keys of `[resource.NAME.since]`, each by itself.
struct SinceDraft: Sendable {
  var at: JSONPointer?
  var token: Resource.AnswerPlace?
  var param: Resource.RequestPlace?
  var value = "{since}"
  var form = Since.Form.rfc3339
  var zone: LocalZone?
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

extension ValueType<LocalZone> {
  /// Folder of the time zone database.
  private static var folder: String { "/usr/share/zoneinfo" }

  /// Largest size of a file of the database that is read.
  private static var maxBytes: Int { 1 << 20 }

  static var zone: Self {
    .text(
      allowed: "an offset such as \"+01:00\", or a name of the time zone database such as \"Europe/Berlin\"",
      problem: "is neither an offset nor a name in \(folder) (package tzdata)",
      parse: { offset($0) ?? place($0) }, write: { $0.name ?? text(of: $0.firstOffset) })
  }

  private static func offset(_ text: String) -> LocalZone? {
    guard let match = text.wholeMatch(of: /([+-])(\d\d):(\d\d)/), let hours = Int(match.2), hours < 24,
      let minutes = Int(match.3), minutes < 60
    else { return nil }
    return LocalZone(offset: (hours * 3600 + minutes * 60) * (match.1 == "-" ? -1 : 1))
  }

  private static func place(_ name: String) -> LocalZone? {
    guard name.wholeMatch(of: /[A-Za-z0-9_+-]+(\/[A-Za-z0-9_+-]+)*/) != nil,
      let file = try? contents(of: "\(folder)/\(name)", limit: maxBytes)
    else { return nil }
    return LocalZone(name: name, file: file)
  }

  private static func text(of seconds: Int) -> String {
    let minutes = abs(seconds) / 60
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(seconds < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
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
