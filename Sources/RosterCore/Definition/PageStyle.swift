/// A page style: everything that depends on the value of `pages.style` alone. Other code asks these properties, so that
/// a new style is a value of this file and its row in docs/PAGES.md.
package struct PageStyle: Sendable {
  /// The way from one page to the next.
  package enum Step: Sendable, Equatable {
    /// The request counts pages or records, so that a page is a range of positions.
    case counts(PageCount)
    /// The request carries a value of the page before it.
    case sends(PageValue)
    /// The page before it has the address.
    case follows(PageAddress)
    /// There is one page.
    case stops
  }

  /// The unit that a style by position counts.
  package enum PageCount: Sendable, Equatable { case pages, records }
  /// The place of the value that leads to the next page: at `at` in the answer, or in its last record.
  package enum PageValue: Sendable, Equatable { case ofAnswer, ofLastRecord }
  /// The place of the next page's address: at `at` in the answer, or `rel="next"` of the Link header (RFC 8288).
  package enum PageAddress: Sendable, Equatable { case ofAnswer, ofLinkHeader }

  /// The name in the configuration.
  package let name: String
  /// The way from one page to the next.
  package let step: Step
  /// Keys of `pages` that only some styles have, as far as this one has them.
  package let ownKeys: Set<String>
  /// The keys among them without which the style has no request.
  package let neededKeys: Set<String>
  /// The placeholder of the page in `value`; nil for a style that sends nothing.
  package let placeholder: String?
  /// The default of `param`; nil if it has none.
  package let usualParam: Resource.RequestPlace?
  /// The default of `first`.
  package let usualFirst: Int
  /// True if the answer is one record: the detail of a parent.
  package let isRecord: Bool

  private init(
    _ name: String, step: Step, ownKeys: Set<String> = [], neededKeys: Set<String> = [], placeholder: String? = nil,
    usualParam: Resource.RequestPlace? = nil, usualFirst: Int = 0, isRecord: Bool = false
  ) {
    self.name = name
    self.step = step
    self.ownKeys = ownKeys
    self.neededKeys = neededKeys
    self.placeholder = placeholder
    self.usualParam = usualParam
    self.usualFirst = usualFirst
    self.isRecord = isRecord
  }

  /// Counts pages. With `last`, the place of the number of pages, pages are pulled in parallel.
  package static let number = PageStyle(
    "number", step: .counts(.pages), ownKeys: ["param", "value", "first", "last"], placeholder: "{page}",
    usualParam: .query("page"), usualFirst: 1)
  /// Counts records.
  package static let offset = PageStyle(
    "offset", step: .counts(.records), ownKeys: ["param", "value", "first"], neededKeys: ["param"],
    placeholder: "{offset}")
  /// Sends the value that the answer before it has at `at`. `start` is sent with the first request.
  package static let cursor = PageStyle(
    "cursor", step: .sends(.ofAnswer), ownKeys: ["param", "value", "start", "at"], neededKeys: ["param", "at"],
    placeholder: "{cursor}")
  /// Follows an address in the answer.
  package static let next = PageStyle("next", step: .follows(.ofAnswer), ownKeys: ["at"], neededKeys: ["at"])
  /// Follows `rel="next"` of the Link header.
  package static let link = PageStyle("link", step: .follows(.ofLinkHeader))
  /// Sends a value of the last record of the page before it.
  package static let after = PageStyle(
    "after", step: .sends(.ofLastRecord), ownKeys: ["param", "value", "at"], neededKeys: ["param"],
    placeholder: "{cursor}")
  /// The list has one page.
  package static let one = PageStyle("one", step: .stops)
  /// The answer is one record.
  package static let record = PageStyle("record", step: .stops, isRecord: true)

  /// All styles, in the order of the manual page.
  package static let all = [number, offset, cursor, next, link, after, one, record]

  /// Keys of `pages` that only some styles have.
  package static let keysOfStyles = all.reduce(into: Set<String>()) { $0.formUnion($1.ownKeys) }
}

extension PageStyle: Equatable {
  /// Names are unique.
  package static func == (one: PageStyle, other: PageStyle) -> Bool { one.name == other.name }
}

extension PageStyle {
  /// True if a page is a range of positions, so that a record that moves is listed twice, or not at all.
  package var isPositional: Bool { if case .counts = step { true } else { false } }

  /// True if the list has one page.
  package var isSingle: Bool { step == .stops }

  /// True if the request of each page is made from the answer to the page before it.
  package var followsAnswers: Bool {
    switch step {
    case .sends, .follows: true
    case .counts, .stops: false
    }
  }
}
