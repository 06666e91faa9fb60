import RosterModel

/// The keys of a definition in the form of its tables, each by itself.
struct ResourceDraft: Sendable {
  var path: String?
  var query: [Resource.Parameter] = []
  var method = Resource.Method.get
  var body = JSONValue.object([])
  var records = JSONPointer()
  var shape = Resource.Shape.objects
  var rowNames = JSONPointer()
  var key = [JSONPointer(segments: ["id"])]
  var table: String?
  var conditions: [Resource.Condition] = []
  var search: [String] = []
  var byKey: String?
  var byKeyRecords = JSONPointer()
  var removal: Resource.Removal?
  var maxRemoval: Int?
  var auditEvery: Duration? = Resource.usualAudit
  var pages = PagesDraft()
  var columns: [Resource.Column] = []
  var lists: [Resource.List] = []
  var since: SinceDraft?
  var each: EachDraft?
  var inline: [JSONValue]?
  var answers = AnswerRules()

  init() {}

  /// All keys of a valid definition, including omitted ones.
  init(_ resource: Resource) {
    path = resource.path
    query = resource.query
    method = resource.method
    body = resource.body
    records = resource.records
    shape = resource.shape
    rowNames = resource.rowNames
    key = resource.keyPlaces
    table = resource.table
    conditions = resource.conditions
    search = resource.search
    byKey = resource.byKey
    byKeyRecords = resource.byKeyRecords
    removal = resource.removal
    maxRemoval = resource.maxRemoval
    auditEvery = resource.auditEvery
    pages = PagesDraft(resource.pages)
    columns = resource.columns
    lists = resource.lists
    since = resource.since.map { SinceDraft($0, of: resource) }
    each = resource.each.map(EachDraft.init)
    inline = resource.inline
    answers = resource.answers
  }

  /// True if each record of the parent has one record, without a key of its own.
  var isDetail: Bool { each != nil && pages.style == .record }

  /// nil if a required value is missing.
  func resource(named name: String) -> Resource? {
    guard let path = inline == nil ? path : "", let first = key.first, let pages = pages.pages(key: first) else {
      return nil
    }
    var resource = Resource(
      name: name, path: path, query: query, method: method, body: body, records: records, shape: shape,
      rowNames: rowNames, key: first, otherKeys: Array(key.dropFirst()), table: table, conditions: conditions,
      search: search, byKey: byKey, byKeyRecords: byKeyRecords, removal: removal, maxRemoval: maxRemoval,
      auditEvery: auditEvery, pages: pages,
      columns: columns.map { storable($0) }, lists: lists, inline: inline)
    resource.answers = answers
    let statuses = (each?.emptyStatuses ?? []).filter { !answers.noRecords.statuses.contains($0) }
    resource.answers.noRecords.statuses += statuses
    if let since {
      guard let since = since.since(of: resource.listing, pages: self.pages) else { return nil }
      resource.since = since
    }
    if let each {
      guard let each = each.each else { return nil }
      resource.each = each
    }
    return resource
  }

  /// The column without `null = true` if that has no effect: an integer is NULL anyway, unless it is a part of the key.
  private func storable(_ column: Resource.Column) -> Resource.Column {
    var column = column
    if !column.type.isText { column.isNullable = column.isNullable && key.count > 1 && key.contains(column.at) }
    return column
  }

  static let keys: [DefinitionKey<ResourceDraft>] = [
    DefinitionKey("path", \.path, .resourcePath), DefinitionKey("query", \.query, .parameters),
    DefinitionKey("method", \.method, .choice), DefinitionKey("body", \.body, .object),
    DefinitionKey("records", \.records, .pointer), DefinitionKey("shape", \.shape, .choice),
    DefinitionKey("row_names", \.rowNames, .pointer), DefinitionKey("key", \.key, .keyPlaces),
    DefinitionKey("table", \.table, .identifier), DefinitionKey("where", \.conditions, .conditions),
    DefinitionKey("search", \.search, .columnNames("names of text columns")), DefinitionKey("by_key", \.byKey, .byKey),
    DefinitionKey("by_key_records", \.byKeyRecords, .pointer), DefinitionKey("removal", \.removal, .choice),
    DefinitionKey("max_removal", \.maxRemoval, .integer(0...100), absent: nil),
    DefinitionKey("audit_every", \.auditEvery, .durationOrNever(atLeast: .milliseconds(1))),
    DefinitionKey("expect", \.answers.expect, .answerConditions),
    DefinitionKey("partial", \.answers.partial, .pointers),
    DefinitionKey("no_records", \.answers.noRecords, .noRecords),
    DefinitionKey("list_of_one", \.answers.isListOfOne, .boolean),
    DefinitionKey("inline", \.inline, .records, absent: nil),
  ]
  /// Keys whose tables are read by rules of their own.
  static let tables = ["pages", "columns", "lists", "since", "each"]
  /// Keys that say how records are requested and read, which `inline` makes meaningless.
  static let keysOfRequests: Set = [
    "path", "query", "method", "body", "records", "shape", "row_names", "by_key", "by_key_records", "pages", "since",
    "each", "expect", "partial", "no_records", "list_of_one",
  ]
}

/// A column in its table form.
struct ColumnDraft: Sendable {
  var at = JSONPointer()
  var type = Resource.ColumnType.text
  /// nil if the definition does not say.
  var isNullable: Bool?

  static let keys: [DefinitionKey<ColumnDraft>] = [
    DefinitionKey("at", \.at, .pointer), DefinitionKey("type", \.type, .choice),
    DefinitionKey("null", \.isNullable, .boolean, absent: nil),
  ]
}

/// `[resource.NAME.lists.TABLE]` without its columns.
struct ListDraft: Sendable {
  var at = JSONPointer()
  var isListOfOne = false

  static let keys: [DefinitionKey<ListDraft>] = [
    DefinitionKey("at", \.at, .pointer), DefinitionKey("list_of_one", \.isListOfOne, .boolean),
  ]
  static let tables = ["columns"]
}
