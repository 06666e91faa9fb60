extension Resource {
  /// `[resource.NAME.pages]`: the way from one page to the next.
  package struct Pages: Sendable, Equatable {
    /// The style of paging.
    package var style: Style
    /// Template of the value of `param`; nil if it is the number, offset or cursor alone (G1).
    package var value: ValueTemplate?
    /// Page size; nil to leave it to upstream.
    package var size: Size?
    /// Place of a boolean, whose value false ends the list.
    package var more: AnswerPlace?
    /// Where a boolean is: true ends the list. The opposite of `more`; a definition has one of them.
    package var done: AnswerPlace?
    /// Place of the total number of records, those that `where` skips included. The total proves that a pull is
    /// complete (P7).
    package var count: AnswerPlace?
    /// True if a page with fewer records than `size` ends the list.
    package var short: Bool
    /// Statuses that mean "past the end" after the first page. They are errors for announced pages.
    package var beyond: [Int]
    /// The meaning of an empty page.
    package var empty: EmptyPage
    /// True if answers may leave out `more` or `done` where it is false.
    package var omitsFalse: Bool
    /// True if upstream hides records after it has cut the pages: pages are shorter, and the total counts more.
    package var hidden: Bool

    /// The defaults are those of the contract.
    package init(
      _ style: Style = .number(), value: ValueTemplate? = nil, size: Size? = nil, more: AnswerPlace? = nil,
      done: AnswerPlace? = nil, count: AnswerPlace? = nil, short: Bool = false, beyond: [Int] = [],
      empty: EmptyPage = .noSign, omitsFalse: Bool = false, hidden: Bool = false
    ) {
      self.style = style
      self.value = value
      self.size = size
      self.more = more
      self.done = done
      self.count = count
      self.short = short
      self.beyond = beyond
      self.empty = empty
      self.omitsFalse = omitsFalse
      self.hidden = hidden
    }
  }

  /// The meaning of an empty page (G5.2).
  package enum EmptyPage: String, Sendable, CaseIterable {
    /// It ends the list unless another sign says that the list goes on.
    case noSign = "no_sign"
    /// It ends the list, whatever else its answer says.
    case end
  }

  /// The text around the value that names a page: `(page:{page},page_size:50)` (G1).
  package struct ValueTemplate: Sendable, Equatable {
    /// The text before the value.
    package var prefix: String
    /// The text after the value.
    package var suffix: String

    /// Splits a text at its only placeholder. nil if the text has no such placeholder, or has it twice.
    package init?(_ text: String, placeholder: String) {
      let parts = text.split(separator: placeholder, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      (prefix, suffix) = (String(parts[0]), String(parts[1]))
    }

    /// The whole text for one page.
    package func filled(with value: String) -> String { prefix + value + suffix }

    /// True for a placeholder alone, which has its natural type in a body (G1.2).
    package var isBare: Bool { prefix.isEmpty && suffix.isEmpty }
  }

  /// The page styles: how the next page is determined.
  package enum Style: Sendable, Equatable {
    /// Counts pages. `last` is the place of the number of pages; if it is given, pages are pulled in parallel (P1).
    case number(param: RequestPlace = .query("page"), first: Int = 1, last: AnswerPlace? = nil)
    /// Counts records.
    case offset(param: RequestPlace, first: Int = 0)
    /// Sends the value that the previous answer has at `at`. `start` is sent with the first request; nil sends nothing.
    case cursor(param: RequestPlace, start: String? = nil, at: AnswerPlace)
    /// Follows an address in the answer.
    case next(at: AnswerPlace)
    /// Follows `rel="next"` of the Link header (RFC 8288).
    case link
    /// Sends a value of the last record of the previous page.
    case after(param: RequestPlace, at: JSONPointer)
    /// The list has one page.
    case one
    /// The answer is one record: the detail of a parent (E9).
    case record
  }

  /// Page size, and the parameter for it; a nil parameter means that it is not sent.
  package struct Size: Sendable, Equatable {
    /// Number of records per page, from 1 to `max`.
    package var records: Int
    /// Far above any list, and small enough that sums with it do not overflow.
    package static let max = 2_000_000_000
    /// nil if upstream uses this size without being asked.
    package var param: RequestPlace?

    /// Makes a page size.
    package init(_ records: Int, param: RequestPlace? = nil) {
      self.records = records
      self.param = param
    }
  }

  /// The place of a value in a request.
  package enum RequestPlace: Sendable, Equatable {
    case query(String)
    case body(JSONPointer)
    /// Each member of an object is a query parameter (`*`). Only the cursor style has it.
    case everyMember
  }

  /// The place of a value in an answer.
  package enum AnswerPlace: Sendable, Equatable {
    case body(JSONPointer)
    case header(String)
  }
}

extension Resource.Pages {
  /// The place of the boolean that ends the list, by true (`done`) or false (`more`).
  package var ending: Resource.AnswerPlace? { more ?? done }
}

extension Resource.Style {
  /// The name in the configuration.
  package var name: String {
    switch self {
    case .number: "number"
    case .offset: "offset"
    case .cursor: "cursor"
    case .next: "next"
    case .link: "link"
    case .after: "after"
    case .one: "one"
    case .record: "record"
    }
  }
}

extension Resource.Style {
  /// Placeholders of the page in `value`, by the style's name. The other styles send nothing (G1.1).
  package static let placeholders = [
    "number": "{page}", "offset": "{offset}", "cursor": "{cursor}", "after": "{cursor}",
  ]

  /// nil for the styles that send nothing.
  package var placeholder: String? { Self.placeholders[name] }
}

extension Resource.Style {
  /// The place in the request that selects the page; nil if upstream gives the address, or if there is only one page.
  package var param: Resource.RequestPlace? {
    switch self {
    case .number(let param, _, _), .offset(let param, _), .cursor(let param, _, _), .after(let param, _): param
    case .next, .link, .one, .record: nil
    }
  }

  /// True if a page is a range of positions, so that a record that moves is listed twice, or not at all.
  package var isPositional: Bool {
    switch self {
    case .number, .offset: true
    case .cursor, .next, .link, .after, .one, .record: false
    }
  }

  /// True if the list has one page.
  package var isSingle: Bool {
    switch self {
    case .one, .record: true
    case .number, .offset, .cursor, .next, .link, .after: false
    }
  }

  /// True if the request of each page is made from the answer to the page before it.
  package var followsAnswers: Bool {
    switch self {
    case .cursor, .next, .link, .after: true
    case .number, .offset, .one, .record: false
    }
  }
}

extension Resource.RequestPlace: CustomStringConvertible {
  /// Reads a query parameter's name, a place in the body with a leading `/`, or `*`. nil if the text is empty, not a
  /// JSON Pointer, or a header, because requests of pages have constant headers.
  package init?(_ text: String) {
    if text == Self.star {
      self = .everyMember
    } else if text.utf8.first == UInt8(ascii: "/") {
      guard let pointer = JSONPointer(text) else { return nil }
      self = .body(pointer)
    } else {
      guard !text.isEmpty, !text.hasPrefix(Resource.AnswerPlace.headerMark) else { return nil }
      self = .query(text)
    }
  }

  /// The place as the configuration writes it.
  package var description: String {
    switch self {
    case .query(let name): name
    case .body(let pointer): pointer.description
    case .everyMember: Self.star
    }
  }

  private static let star = "*"
}

extension Resource.AnswerPlace: CustomStringConvertible {
  /// Reads a JSON Pointer, or `header:NAME`. nil if the pointer or the header's name is invalid.
  package init?(_ text: String) {
    if text.hasPrefix(Self.headerMark) {
      let name = String(text.dropFirst(Self.headerMark.count))
      guard name.isHTTPToken else { return nil }
      self = .header(name)
    } else {
      guard let pointer = JSONPointer(text) else { return nil }
      self = .body(pointer)
    }
  }

  /// True for Content-Range, which contains a range and, after the slash, the total (RFC 9110 §14.4).
  package var isContentRange: Bool {
    if case .header(let name) = self { name.lowercased() == "content-range" } else { false }
  }

  /// The part of the header's value that is a total: the part after the slash of a Content-Range, else the whole value.
  /// nil for `*` in a Content-Range, which means that the total is unknown (RFC 9110 §14.4).
  package func total(in value: String?) -> String? {
    guard isContentRange, let value else { return value }
    let total = value.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? value
    return total == "*" ? nil : total
  }

  fileprivate static let headerMark = "header:"

  /// The place as the configuration writes it.
  package var description: String {
    switch self {
    case .body(let pointer): pointer.description
    case .header(let name): Self.headerMark + name
    }
  }
}
