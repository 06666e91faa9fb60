import RosterModel

/// The keys of `[resource.NAME.pages]`, each by itself.
struct PagesDraft: Sendable {
  /// The values of the key `style`.
  enum StyleName: String, CaseIterable, Sendable {
    case number, offset, cursor, next, link, after, one, record
  }

  var style = StyleName.number
  var param: Resource.RequestPlace?
  var value: String?
  var first: Int?
  var start: String?
  var size: Int?
  var sizeParam: Resource.RequestPlace?
  var at: Resource.AnswerPlace?
  var more: Resource.AnswerPlace?
  var done: Resource.AnswerPlace?
  var last: Resource.AnswerPlace?
  var count: Resource.AnswerPlace?
  var short = false
  var beyond: [Int] = []
  var empty = Resource.EmptyPage.noSign
  var omitsFalse = false
  var hidden = false

  init() {}

  init(_ pages: Resource.Pages) {
    size = pages.size?.records
    sizeParam = pages.size?.param
    more = pages.more
    done = pages.done
    value = pages.style.placeholder.flatMap { pages.value?.filled(with: $0) }
    count = pages.count
    short = pages.short
    beyond = pages.beyond
    (empty, omitsFalse, hidden) = (pages.empty, pages.omitsFalse, pages.hidden)
    switch pages.style {
    case .number(let param, let first, let last):
      (style, self.param, self.first, self.last) = (.number, param, first, last)
    case .offset(let param, let first): (style, self.param, self.first) = (.offset, param, first)
    case .cursor(let param, let start, let at): (style, self.param, self.start, self.at) = (.cursor, param, start, at)
    case .next(let at): (style, self.at) = (.next, at)
    case .link: style = .link
    case .after(let param, let at): (style, self.param, self.at) = (.after, param, .body(at))
    case .one: style = .one
    case .record: style = .record
    }
  }

  /// nil if the style needs a missing value.
  /// - Parameter key: the place of the definition's key.
  func pages(key: JSONPointer) -> Resource.Pages? {
    guard let style = style(key: key) else { return nil }
    return Resource.Pages(
      style, value: template(for: style), size: size.map { Resource.Size($0, param: sizeParam) }, more: more,
      done: done, count: count, short: short, beyond: beyond, empty: empty, omitsFalse: omitsFalse, hidden: hidden)
  }

  /// nil if `value` is missing, or if it is only the placeholder.
  private func template(for style: Resource.Style) -> Resource.ValueTemplate? {
    guard let value, let placeholder = style.placeholder else { return nil }
    let template = Resource.ValueTemplate(value, placeholder: placeholder)
    return template?.isBare == true ? nil : template
  }

  /// `param`, or its default if it is omitted.
  var sentParam: Resource.RequestPlace? { param ?? (style == .number ? .query("page") : nil) }

  private func style(key: JSONPointer) -> Resource.Style? {
    switch (style, sentParam, at) {
    case (.number, let param?, _): .number(param: param, first: first ?? 1, last: last)
    case (.offset, let param?, _): .offset(param: param, first: first ?? 0)
    case (.cursor, let param?, let at?): .cursor(param: param, start: start, at: at)
    case (.next, _, let at?): .next(at: at)
    case (.link, _, _): .link
    case (.after, let param?, nil): .after(param: param, at: key)
    case (.after, let param?, .body(let at)?): .after(param: param, at: at)
    case (.one, _, _): .one
    case (.record, _, _): .record
    case (.number, nil, _), (.offset, nil, _), (.cursor, _, _), (.next, _, nil), (.after, _, _): nil
    }
  }

  static let keys: [DefinitionKey<PagesDraft>] = [
    DefinitionKey("style", \.style, .choice), DefinitionKey("param", \.param, .requestPlace),
    DefinitionKey("value", \.value, .text("a text with {page}, {offset} or {cursor}")),
    DefinitionKey("first", \.first, .integer(0...Resource.Size.max), absent: nil),
    DefinitionKey("start", \.start, .text("any text")),
    DefinitionKey("size", \.size, .integer(1...Resource.Size.max), absent: nil),
    DefinitionKey("size_param", \.sizeParam, .requestPlace), DefinitionKey("at", \.at, .answerPlace),
    DefinitionKey("more", \.more, .answerPlace), DefinitionKey("done", \.done, .answerPlace),
    DefinitionKey("last", \.last, .answerPlace), DefinitionKey("count", \.count, .answerPlace),
    DefinitionKey("short", \.short, .boolean), DefinitionKey("beyond", \.beyond, .integers(400...599)),
    DefinitionKey("empty", \.empty, .choice), DefinitionKey("omits_false", \.omitsFalse, .boolean),
    DefinitionKey("hidden", \.hidden, .boolean),
  ]
}

extension ResourceDraft {
  /// The place of the value after which the next page begins, if it is not the key (P7.5).
  var skippingAfter: JSONPointer? {
    guard pages.style == .after, case .body(let place)? = pages.at, key != [place] else { return nil }
    return place
  }
}

extension PagesDraft.StyleName {
  /// Keys of `pages` that the style does not use.
  var foreignKeys: Set<String> {
    if self == .record { return Set(PagesDraft.keys.map(\.name)).subtracting(["style"]) }
    let all: Set = ["param", "value", "first", "start", "at", "last"]
    let own: Set<String> =
      switch self {
      case .number: ["param", "value", "first", "last"]
      case .offset: ["param", "value", "first"]
      case .cursor: ["param", "value", "start", "at"]
      case .next: ["at"]
      case .after: ["param", "value", "at"]
      case .link, .one, .record: []
      }
    return all.subtracting(own)
  }

  /// The placeholder of the page in `value`.
  var placeholder: String? { Resource.Style.placeholders[rawValue] }

  var needsParam: Bool { [.offset, .cursor, .after].contains(self) }
  var needsPlace: Bool { [.cursor, .next].contains(self) }
}
