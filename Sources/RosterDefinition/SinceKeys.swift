package import RosterCore

extension Since {
  /// The keys of `[resource.NAME.since]`, in the order of the manual page.
  package static let keys: [DefinitionKey<Since>] = keysOfStarts + keysOfListing

  private static let keysOfStarts: [DefinitionKey<Since>] = [
    DefinitionKey(
      "at", optional: \.place, type: .markPlace,
      doc: "Place of the time of the last change in a record, or header:Date."),
    DefinitionKey(
      "token", optional: \.token, type: .answerPlace,
      doc: "Place of the delta token on the last page, also header:NAME."),
    DefinitionKey(
      "param", optional: \.param, type: .startPlace, doc: "The query parameter that carries the start"),
    DefinitionKey("value", \.value, type: .sinceValue, doc: "Value of the parameter."),
    DefinitionKey("form", \.form, type: .choice, doc: "Form of the values at at"),
    DefinitionKey("zone", optional: \.zone, type: .zone, doc: "Zone of times without one"),
    DefinitionKey(
      "overlap", \.overlap, type: .overlap, usual: "".tomlString,
      doc: "How far before the mark an incremental pull starts."),
    DefinitionKey(
      "from", optional: \.from, type: .text("any text"), doc: "Value of the parameter in a whole pull."),
    DefinitionKey(
      "whole_every", \.wholeEvery, type: .durationOrNever(atLeast: .seconds(60)),
      doc: "Maximum time between two whole pulls."),
    DefinitionKey("ask", \.asks, type: .boolean, doc: "True if the incremental list has keys only."),
    DefinitionKey(
      "key", \.listing.keyPlaces, type: .keyPlaces, usual: "".tomlString,
      doc: "Place of the key in the incremental list"),
  ]

  /// Each replaces the value of the resource in incremental pulls. An omitted one has that value.
  private static let keysOfListing: [DefinitionKey<Since>] = [
    DefinitionKey(
      "path", \.listing.path, type: .resourcePath, usual: "".tomlString,
      doc: "With the next ten keys: as in the resource."),
    DefinitionKey("query", \.listing.query, type: .parameters, usual: "".tomlString, doc: ""),
    DefinitionKey(
      "headers", optional: \.listing.givenHeaders, type: .headersOfRequests, isWritten: false, usual: "".tomlString,
      doc: ""),
    DefinitionKey(
      "raw", optional: \.listing.givenRaw, type: .columnNames("names of parameters of query"), isWritten: false,
      usual: "".tomlString, doc: ""),
    DefinitionKey("method", \.listing.method, type: .choice, usual: "".tomlString, doc: ""),
    DefinitionKey("body", \.listing.body, type: .object, usual: "".tomlString, doc: ""),
    DefinitionKey(
      "format", optional: \.listing.givenFormat, type: .choice, isWritten: false, usual: "".tomlString, doc: ""),
    DefinitionKey("records", \.listing.records, type: .pointer, usual: "".tomlString, doc: ""),
    DefinitionKey("shape", \.listing.shape, type: .choice, usual: "".tomlString, doc: ""),
    DefinitionKey("row_names", \.listing.rowNames, type: .pointer, usual: "".tomlString, doc: ""),
  ]

  /// Names of the keys of the incremental list. They have no line if they have the resource's value.
  static let inheritedKeys = Set(keysOfListing.map(\.name))
  /// Keys that say something about the values at `at`.
  static let keysOfMarks = ["form", "zone", "overlap", "from"]
  /// Keys whose values are tables of their own.
  package static let tables = ["pages"]
}

extension ValueType<String> {
  /// A text with the placeholder of the start.
  static var sinceValue: Self {
    .text(
      allowed: "a text with {since} or {since:FORM} once; FORM is \(TimeForm.writtenText)",
      problem: "does not have {since} or {since:FORM} once",
      parse: {
        $0.split(separator: "{since", omittingEmptySubsequences: false).count == 2
          && Since.placeholder(in: $0) != nil ? $0 : nil
      },
      write: { $0 })
  }
}

extension ValueType<Resource.AnswerPlace> {
  /// The place of the mark.
  static var markPlace: Self {
    .text(
      allowed: "a JSON Pointer such as \"/updated_at\", or \"header:\(Since.dateHeader)\"",
      problem: "is neither a JSON Pointer nor header:\(Since.dateHeader)",
      parse: { text in
        switch Resource.AnswerPlace(text) {
        case .header(let name)?: name.lowercased() == Since.dateHeader.lowercased() ? .header(Since.dateHeader) : nil
        case .body(let pointer)? where pointer.segments.count <= ValueType<JSONPointer>.maxNames: .body(pointer)
        case .body?, .entry?, nil: nil
        }
      },
      write: \.description)
  }
}

extension ValueType<Resource.RequestPlace> {
  /// The place of the start, which may be a header.
  static var startPlace: Self {
    .text(
      allowed: "\(requestPlace.allowed), or \"header:NAME\"",
      parse: { (text) throws(Mistakes) in
        guard let place = Resource.RequestPlace(text, takesHeaders: true) else {
          throw Mistakes("\(text.tomlString) is no place in a request")
        }
        if case .header(let name) = place, HeaderText.isOwn(name), !HeaderText.canStart(name) {
          throw Mistakes("\(text.tomlString) is rosterd's own to send", allowed: "any other header")
        }
        return place
      },
      write: \.description)
  }
}

extension ValueType<[Request.Header]> {
  /// Their values are part of the definition. Secrets in them are masked as those of `query` are.
  static var headersOfRequests: Self { .headers(shown: \.value) }
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
        case .number(let number): .integer(Int(number))
        }
      })
  }
}
