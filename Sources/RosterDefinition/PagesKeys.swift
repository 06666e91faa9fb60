package import RosterCore

extension Resource.Pages {
  /// The keys of `[resource.NAME.pages]`, in the order of the manual page. The table has those of its style.
  package static let keys: [DefinitionKey<Resource.Pages>] = keysOfRequests + keysOfAnswers

  private static let keysOfRequests: [DefinitionKey<Resource.Pages>] = [
    DefinitionKey("style", \.style.kind, type: .pageStyle, doc: ""),
    DefinitionKey(
      "param", optional: \.style.param, type: .startPlace, usual: "".tomlString,
      doc: "With number, offset, cursor and after: the query parameter to send, or header:NAME."),
    .value,
    DefinitionKey(
      "first", \.style.first, type: .integer(0...Resource.Size.max), usual: "".tomlString,
      doc: "The number or offset of the first page."),
    DefinitionKey(
      "start", optional: \.style.start, type: .text("any text"), doc: "With cursor: the value of the first request."),
    DefinitionKey(
      "size", optional: \.sizeRecords, type: .integer(1...Resource.Size.max), isWritten: false,
      doc: "The number of records on a page, at least 1."),
    DefinitionKey(
      "size_param", optional: \.sizeParam, type: .requestPlace,
      doc: "The query parameter or place for size, like param."),
  ]

  private static let keysOfAnswers: [DefinitionKey<Resource.Pages>] = [
    DefinitionKey(
      "at", optional: \.style.at, type: .nextPlace,
      doc: "With cursor and next: the place of the value in the answer, or header:NAME."),
    DefinitionKey(
      "more", optional: \.more, type: .answerPlace, doc: "The place of a boolean, or header:NAME."),
    DefinitionKey(
      "done", optional: \.done, type: .answerPlace,
      doc: "The place of a boolean that ends the list if it is true, or header:NAME."),
    DefinitionKey(
      "last", optional: \.style.last, type: .answerPlace,
      doc: "With number: the place of the number of pages, or header:NAME."),
    DefinitionKey(
      "count", optional: \.count, type: .answerPlace, doc: "The place of the total number of records, or header:NAME."),
    DefinitionKey("short", \.short, type: .boolean, doc: "If true, a page that is not full ends the list"),
    DefinitionKey(
      "beyond", \.beyond, type: .integers(400...599, noContent: "the end of the list"),
      doc: "Statuses, 400 to 599, that mean past the end after the first page"),
    DefinitionKey(
      "empty", \.empty, type: .choice, doc: "With end, an empty page ends the list, whatever else its answer says."),
    DefinitionKey("omits_false", \.omitsFalse, type: .boolean, doc: "If true, upstream leaves out more or done"),
    DefinitionKey(
      "hidden", \.hidden, type: .boolean,
      doc: "If true, upstream counts records that it does not list."),
  ]
}

extension PageStyle {
  /// True if the style uses a key of `pages`.
  func uses(_ key: String) -> Bool {
    isRecord ? key == "style" : ownKeys.contains(key) || !Self.keysOfStyles.contains(key)
  }
}

extension DefinitionKey<Resource.Pages> {
  /// A template that is its placeholder alone is the same as none.
  fileprivate static var value: Self {
    Self(
      "value", optional: \.valueText, type: .text("a text with {page}, {offset} or {cursor}"),
      doc: "Of number, offset, cursor and after: what param carries")
  }
}

extension ValueType<PageStyle> {
  static var pageStyle: Self {
    .text(
      allowed: PageStyle.all.map(\.name).joined(separator: " "), problem: "is unknown",
      parse: { name in PageStyle.all.first { $0.name == name } }, write: \.name)
  }
}
