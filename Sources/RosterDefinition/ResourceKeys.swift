package import RosterCore

extension Resource {
  /// The keys of `[resource.NAME]`, in the order of the manual page.
  package static let keys: [DefinitionKey<Resource>] = requestKeys + recordKeys + answerKeys

  private static let requestKeys: [DefinitionKey<Resource>] = [
    DefinitionKey("path", \.path, type: .resourcePath, doc: "The path of the list, below upstream.base_url."),
    DefinitionKey("query", \.query, type: .parameters, doc: "Parameters to send with every page"),
    DefinitionKey(
      "raw", optional: \.listing.givenRaw, type: .columnNames("names of parameters of query"), isWritten: false,
      doc: "Parameters whose values are sent as written, without percent-encoding."),
    DefinitionKey(
      "headers", optional: \.listing.givenHeaders, type: .headersOfRequests, isWritten: false,
      doc: "Headers of every request of this resource; they replace those of upstream.headers."),
    DefinitionKey(
      "base_url", optional: \.baseURL, type: .baseURL, isWritten: false,
      doc: "The address in the place of upstream.base_url, for an API with several servers."),
    DefinitionKey("method", \.method, type: .choice, doc: "GET or POST; POST is for search endpoints and GraphQL."),
    DefinitionKey("body", \.body, type: .object, doc: "The JSON of every POST."),
    DefinitionKey(
      "format", optional: \.listing.givenFormat, type: .choice, isWritten: false,
      doc: "With form, the body of a POST is form-encoded instead of JSON."),
    DefinitionKey("records", \.records, type: .pointer, doc: "The place of the list in an answer."),
    DefinitionKey("shape", \.shape, type: .choice, doc: "The form of a record."),
    DefinitionKey(
      "row_names", \.rowNames, type: .pointer, doc: "The place of the list of names in the answer, if records are rows."
    ),
  ]

  private static let recordKeys: [DefinitionKey<Resource>] = [
    DefinitionKey("key", \.keyPlaces, type: .keyPlaces, doc: "The place of the key in a record."),
    DefinitionKey("table", \.table, type: .identifier, doc: "The table of the records in the cache."),
    DefinitionKey(
      "where", \.conditions, type: .conditions, doc: "A record that does not match all of these conditions is skipped"),
    DefinitionKey(
      "search", \.search, type: .columnNames("names of text columns"),
      doc: "The text columns that rosterctl list --search searches."),
    DefinitionKey(
      "by_key", optional: \.keyQuestion, type: .keyQuestion,
      doc: "The path of one record, with {key}, or of at most 50 records, with {keys}"),
    DefinitionKey(
      "by_key_records", \.byKeyRecords, type: .pointer, doc: "Where an answer of by_key has the record or the list."),
    DefinitionKey(
      "removal", \.removal, type: .choice, usual: "".tomlString,
      doc: "Treatment of a record that upstream no longer lists."),
    DefinitionKey(
      "max_removal", optional: \.maxRemoval, type: .integer(0...100), isWritten: false,
      doc: "The largest percentage of its records that one sync may remove, 0 to 100."),
    DefinitionKey(
      "audit_every", \.auditEvery, type: .durationOrNever(atLeast: .milliseconds(1)),
      doc: "Period in which each page that validators confirm is transferred once without its validator."),
  ]

  private static let answerKeys: [DefinitionKey<Resource>] = [
    DefinitionKey(
      "expect", \.answers.expect, type: .answerConditions,
      doc:
        "Conditions on the whole answer of a page or of by_key, as in where. \"any\": the place is no sign of a fault."),
    DefinitionKey(
      "partial", \.answers.partial, type: .pointers,
      doc: "Places that have a value if the answer lacks records, such as [\"/errors\"]."),
    DefinitionKey(
      "no_records", \.answers.noRecords, type: .noRecords,
      doc: "Signs that there are no records if the answer has no list"),
    DefinitionKey(
      "list_of_one", \.answers.isListOfOne, type: .boolean,
      doc: "If true, a single record without a list counts as a list of one."),
    DefinitionKey(
      "inline", optional: \.inline, type: .records, isWritten: false, doc: "The records themselves, a table for each."),
    DefinitionKey(
      "windows", optional: \.windows, type: .windows, isWritten: false,
      doc: "Spans of time as the records, with the members /from and /to, for children with lists that take both."),
  ]

  /// Keys whose values are tables of their own.
  package static let tables = ["pages", "columns", "lists", "since", "each"]
  /// Keys that say how records are requested and read, which `inline` makes meaningless.
  static let keysOfRequests: Set = [
    "path", "query", "raw", "headers", "base_url", "method", "body", "format", "records", "shape", "row_names",
    "by_key", "by_key_records", "pages", "since",
    "each", "expect", "partial", "no_records", "list_of_one",
  ]
}

extension Resource.Column {
  /// The keys of a column that is a table.
  package static let keys: [DefinitionKey<Resource.Column>] = [
    DefinitionKey("at", \.at, type: .pointer, doc: "The place of the value in the record."),
    DefinitionKey("type", \.type, type: .choice, doc: "text, integer, real, boolean, json or timestamp."),
    DefinitionKey(
      "null", \.null, type: .nulls, usual: "".tomlString,
      doc: "If true, an absent or null text is NULL instead of the empty string."),
  ]

  /// The value of the key `null`.
  fileprivate var null: Nulls {
    get { nulls.isEmpty ? .flag(isNullable) : .values(nulls) }
    set {
      switch newValue {
      case .flag(let flag): (isNullable, nulls) = (flag, [])
      case .values(let values): (isNullable, nulls) = (true, values)
      }
    }
  }
}

extension Resource.List {
  /// The keys of `[resource.NAME.lists.TABLE]` but its columns.
  package static let keys: [DefinitionKey<Resource.List>] = [
    DefinitionKey("at", \.at, type: .pointer, doc: "The place of the list in the record."),
    DefinitionKey(
      "list_of_one", \.isListOfOne, type: .boolean,
      doc: "If true, a single element without a list counts as a list of one."),
  ]
  static let tables = ["columns"]
}

extension Each {
  /// The keys of `[resource.NAME.each]`, in the order of the manual page.
  package static let keys: [DefinitionKey<Each>] = [
    DefinitionKey(
      "of", \.parent, type: .text("the name of another resource"),
      doc: "Name of the parent, at most three steps below a resource without this table."),
    DefinitionKey(
      "changed", \.changed, type: .columnNames("names of columns of the parent"), doc: "Columns of the parent."),
    DefinitionKey(
      "whole_every", optional: \.period, type: .wholeEvery, isWritten: false,
      doc: "Maximum time between two pulls of a list."),
    DefinitionKey(
      "empty", \.empty, type: .alternatives, doc: "Columns of the parent with conditions as in where."),
    DefinitionKey(
      "none", optional: \.emptyStatuses, type: .integers(400...599, noContent: "no records"), isWritten: false,
      doc: "An older name for statuses of no_records."),
  ]
}

extension ValueType<Each.Whole> {
  static var wholeEvery: Self {
    let duration = ValueType<Duration?>.durationOrNever(atLeast: .seconds(60))
    return Self(
      name: duration.name, allowed: duration.allowed,
      read: { (item) throws(Mistakes) in try duration.read(item).map(Each.Whole.every) ?? .never },
      write: { whole in
        if case .every(let time) = whole { duration.write(time) } else { duration.write(nil) }
      })
  }
}
