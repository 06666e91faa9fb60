extension Resource {
  /// `[resource.NAME.pages]`: the way from one page to the next.
  package struct Pages: Sendable, Equatable {
    /// The style of paging.
    package var style: Style
    /// `value` as the configuration writes it; nil if it is the number, offset or cursor alone.
    package var valueText: String?
    /// Number of records per page; nil to leave it to upstream.
    package var sizeRecords: Int?
    /// The parameter for `sizeRecords`; nil if it is not sent.
    package var sizeParam: RequestPlace?
    /// Place of a boolean, whose value false ends the list.
    package var more: AnswerPlace?
    /// Where a boolean is: true ends the list. The opposite of `more`; a definition has one of them.
    package var done: AnswerPlace?
    /// Place of the total number of records, those that `where` skips included. The total proves that a pull is
    /// complete.
    package var count: AnswerPlace?
    /// True if a page with fewer records than `size` ends the list.
    package var short: Bool
    /// Statuses that mean "past the end" after the first page. They are errors for announced pages.
    package var beyond: [Int]
    /// The meaning of an empty page.
    package var empty: EmptyPage
    /// True if answers may leave out `more` or `done` where it is false.
    package var omitsFalse: Bool
    /// True if upstream counts records that it does not list: pages may be shorter, and no total is a sign.
    package var hidden: Bool

    /// The defaults are those of rosterd.toml(5).
    package init(
      _ style: Style = .number(), value: ValueTemplate? = nil, size: Size? = nil, more: AnswerPlace? = nil,
      done: AnswerPlace? = nil, count: AnswerPlace? = nil, short: Bool = false, beyond: [Int] = [],
      empty: EmptyPage = .noSign, omitsFalse: Bool = false, hidden: Bool = false
    ) {
      self.style = style
      valueText = value?.text
      sizeRecords = size?.records
      sizeParam = size?.param
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

  /// The meaning of an empty page.
  package enum EmptyPage: String, Sendable, CaseIterable {
    /// It ends the list unless another sign says that the list goes on.
    case noSign = "no_sign"
    /// It ends the list, whatever else its answer says.
    case end
  }

  /// The text around the value that names a page: `(page:{page},page_size:50)`.
  package struct ValueTemplate: Sendable, Equatable {
    /// The text before the value.
    package var prefix: String
    /// The text after the value.
    package var suffix: String

    /// The placeholder between them.
    package let placeholder: String

    /// Splits a text at its only placeholder. nil if the text has no such placeholder, or has it twice.
    package init?(_ text: String, placeholder: String) {
      let parts = text.split(separator: placeholder, omittingEmptySubsequences: false)
      guard parts.count == 2 else { return nil }
      (prefix, suffix) = (String(parts[0]), String(parts[1]))
      self.placeholder = placeholder
    }

    /// The text as the configuration writes it.
    package var text: String { filled(with: placeholder) }

    /// The whole text for one page.
    package func filled(with value: String) -> String { prefix + value + suffix }

    /// True for a placeholder alone, which has its natural type in a body.
    package var isBare: Bool { prefix.isEmpty && suffix.isEmpty }
  }

  /// A page style with the values of its own keys. A key that the style lacks keeps its default.
  package struct Style: Sendable, Equatable {
    /// The style alone.
    package var kind: PageStyle
    /// The place in the request that selects the page; nil for a style that sends nothing.
    package var param: RequestPlace?
    /// The number or offset of the first page.
    package var first: Int
    /// The value of the first request; nil sends nothing.
    package var start: String?
    /// The place of the value or address that leads to the next page: in the answer, or in its last record.
    package var at: AnswerPlace?
    /// The place of the number of pages.
    package var last: AnswerPlace?

    /// The style with the defaults of its keys.
    package init(
      _ kind: PageStyle, param: RequestPlace? = nil, first: Int? = nil, start: String? = nil, at: AnswerPlace? = nil,
      last: AnswerPlace? = nil
    ) {
      self.kind = kind
      self.param = param ?? kind.usualParam
      self.first = first ?? kind.usualFirst
      self.start = start
      self.at = at
      self.last = last
    }
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
    /// A header: `since.param`, or the parameter of a page style.
    case header(String)
    /// The placeholder of the page in `path`. Only the style's parameter is there.
    case path
    /// Each member of an object is a query parameter (`*`). Only the cursor style has it.
    case everyMember
  }

  /// The place of a value in an answer.
  package enum AnswerPlace: Sendable, Equatable {
    case body(JSONPointer)
    case header(String)
    /// A place in the element of a list that fulfils conditions. Only `pages.at` is there.
    case entry(EntryPlace)
  }

  /// `{ list = "/links", where = { "/rel" = "next" }, value = "/href" }`
  package struct EntryPlace: Sendable, Equatable {
    /// Place of the list in the answer.
    package var list: JSONPointer
    /// Conditions on an element. The first one that fulfils all of them counts.
    package var conditions: [Condition]
    /// Place of the value in the element.
    package var value: JSONPointer

    /// Makes a place.
    package init(list: JSONPointer, conditions: [Condition], value: JSONPointer) {
      (self.list, self.conditions, self.value) = (list, conditions, value)
    }
  }
}

extension Resource.Pages {
  /// Template of the value of `param`; nil if it is the number, offset or cursor alone.
  package var value: Resource.ValueTemplate? {
    get {
      guard let valueText, let placeholder = style.kind.placeholder else { return nil }
      let template = Resource.ValueTemplate(valueText, placeholder: placeholder)
      return template?.isBare == true ? nil : template
    }
    set { valueText = newValue?.text }
  }

  /// Page size; nil to leave it to upstream.
  package var size: Resource.Size? {
    get { sizeRecords.map { Resource.Size($0, param: sizeParam) } }
    set { (sizeRecords, sizeParam) = (newValue?.records, newValue?.param) }
  }

  /// The place of the boolean that ends the list, by true (`done`) or false (`more`).
  package var ending: Resource.AnswerPlace? { more ?? done }

  /// True if a total is a sign although no key names its place.
  package var takesUnnamedTotal: Bool {
    count == nil && !hidden && !style.kind.isRecord
  }

  /// True if the list may end at a page with records although a member that no key names says that it goes on. The
  /// next page is requested then.
  package var takesUnnamedMore: Bool {
    guard ending == nil, short || count != nil || style.last != nil else { return false }
    return switch style.kind.step {
    case .counts, .sends(.ofLastRecord): true
    case .sends(.ofAnswer), .follows, .stops: false
    }
  }

  /// True if `count` alone may say that a full page is the last one, so that one more page is requested.
  package var mayTryCount: Bool {
    guard count != nil, ending == nil, style.last == nil else { return false }
    return switch style.kind.step {
    case .counts, .sends(.ofLastRecord): true
    case .sends(.ofAnswer), .follows, .stops: false
    }
  }
}

extension Resource.Style {
  /// A style of `PageStyle` with its keys.
  package static func number(
    param: Resource.RequestPlace = .query("page"), first: Int = 1, last: Resource.AnswerPlace? = nil
  ) -> Self { Self(.number, param: param, first: first, last: last) }
  /// A style of `PageStyle` with its keys.
  package static func offset(param: Resource.RequestPlace, first: Int = 0) -> Self {
    Self(.offset, param: param, first: first)
  }
  /// A style of `PageStyle` with its keys.
  package static func cursor(param: Resource.RequestPlace, start: String? = nil, at: Resource.AnswerPlace) -> Self {
    Self(.cursor, param: param, start: start, at: at)
  }
  /// A style of `PageStyle` with its keys.
  package static func next(at: Resource.AnswerPlace) -> Self { Self(.next, at: at) }
  /// A style of `PageStyle` without keys.
  package static var link: Self { Self(.link) }
  /// A style of `PageStyle` with its keys.
  package static func after(param: Resource.RequestPlace, at: JSONPointer) -> Self {
    Self(.after, param: param, at: .body(at))
  }
  /// A style of `PageStyle` without keys.
  package static var one: Self { Self(.one) }
  /// A style of `PageStyle` without keys.
  package static var record: Self { Self(.record) }

  /// The place of the value or address that leads to the next page, if it is in the body.
  package var placeInBody: JSONPointer? { if case .body(let place)? = at { place } else { nil } }

  /// The place by condition of that value or address.
  package var entry: Resource.EntryPlace? { if case .entry(let entry)? = at { entry } else { nil } }

  /// The header that leads to the next page; nil if no header does.
  package var nextHeader: String? {
    if kind.step == .follows(.ofLinkHeader) { return "Link" }
    if case .header(let name)? = at { return name }
    return nil
  }
}

extension Resource.RequestPlace: CustomStringConvertible {
  /// Reads a query parameter's name, a place in the body with a leading `/`, or `*`. nil if the text is empty, not a
  /// JSON Pointer, or a header that the key does not know.
  /// - Parameter takesHeaders: True for `since.param` and `pages.param`.
  package init?(_ text: String, takesHeaders: Bool = false) {
    if takesHeaders, text.hasPrefix(Resource.AnswerPlace.headerMark) {
      let name = String(text.dropFirst(Resource.AnswerPlace.headerMark.count))
      guard name.isHTTPToken else { return nil }
      self = .header(name)
    } else if text == Self.star {
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
    case .header(let name): Resource.AnswerPlace.headerMark + name
    case .path: ""
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
    case .entry(let entry): "\(entry.list)/*\(entry.value)"
    }
  }
}
