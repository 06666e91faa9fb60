internal import RosterCore
internal import RosterDecode

/// The SQL of one resource: its tables, and every statement that uses their columns. The names were checked when the
/// configuration was read, and are quoted nevertheless.
final class ResourceTables: Sendable {
  let resource: Resource
  /// The column that is the key, or its first part; nil for a detail, whose key is its parent.
  let key: Int?
  /// The columns of all parts of the key.
  let keyParts: [Int]
  /// `Resource.listed`, which is made once because each list needs it.
  let listed: String
  /// True for each column that `<table>_fts` has.
  let isSearched: [Bool]
  /// The tables of an earlier definition that these replace (`WaitingDefinitions`); nil without one.
  let stored: ResourceTables?
  /// False if none of the records in `stored` stays.
  let keepsRecords: Bool
  /// True until the publication that makes these tables. Until then records are read through a view.
  let isWaiting: Bool
  /// The names of the lists in documents, by their tables.
  private let listNames: [String: String]

  /// Throws `Failure` (70) if no column is the key.
  init(
    _ resource: Resource, listNames: [String]? = nil, stored: ResourceTables? = nil, keepsRecords: Bool = true,
    isWaiting: Bool = false
  ) throws {
    self.resource = resource
    listed = resource.listed
    let tables = resource.lists.map(\.table)
    let columns = resource.columns.map(\.name)
    let usual = tables.map { Resource.name(ofList: $0, in: resource.name, columns: columns) }
    self.listNames = Dictionary(uniqueKeysWithValues: zip(tables, listNames ?? usual))
    (self.stored, self.keepsRecords, self.isWaiting) = (stored, keepsRecords, isWaiting)
    if resource.isDetail {
      (key, keyParts) = (nil, [])
    } else {
      guard let key = resource.keyColumn, let keyParts = resource.keyColumns else {
        throw Failure(
          .defect, step: "make tables", subject: resource.name,
          cause: "no column of its definition is at \(resource.key)")
      }
      (self.key, self.keyParts) = (key, keyParts)
    }
    isSearched = resource.columns.map { resource.search.contains($0.name) }
  }

  /// True if a key is a text: one column, or the JSON list of several.
  var hasTextKey: Bool { resource.hasCompositeKey || key.map { resource.columns[$0].type.isText } ?? false }
  /// True if the table has a column of record ids. Otherwise an integer key, or the parent of a detail, is the id.
  var hasOwnIDs: Bool { hasTextKey || (parent != nil && !resource.isDetail) }
  var table: String { quoted(resource.table) }
  /// The table or view that a pull reads records from.
  var from: String { from(resource.table) }
  var keyColumn: String { key.map { quoted(resource.columns[$0].name) } ?? parentColumn ?? "" }
  var keyNames: [String] { keyParts.map { resource.columns[$0].name } }
  /// `resources.key`: the column, or the JSON list of columns.
  var keyName: String {
    if resource.hasCompositeKey { return JSONText.list(keyNames) }
    return keyNames.first ?? resource.parentColumn ?? ""
  }
  /// The column with the record id.
  var id: String { hasOwnIDs ? Self.ownID : keyColumn }
  private static let ownID = "record_id"
  /// The parent resource of a child.
  var parent: String? { resource.each?.parent }
  /// The column with the record id of the parent; nil if the resource has no parent.
  var parentColumn: String? { resource.parentColumn.map(quoted) }
  /// The columns with a record's values, in the order of the values: those of the definition, and `extra`.
  var written: [String] { resource.columns.map { quoted($0.name) } + ["extra"] }
  /// nil if no column is searched.
  var index: String? { resource.search.isEmpty ? nil : quoted(resource.table + "_fts") }
  private var searched: String { resource.search.map(quoted).joined(separator: ", ") }

  private func from(_ name: String) -> String { isWaiting ? Self.view(name) : "main.\(quoted(name))" }

  static func view(_ table: String) -> String { "temp.\(viewName(table))" }

  static func viewName(_ table: String) -> String { quoted("waiting_\(table)") }

  // MARK: Keys

  /// The key of the row `row`. A child's key is unique under its parent only; a detail's key is always 1.
  func key(of row: String) -> String {
    if resource.isDetail { return "1" }
    guard resource.hasCompositeKey else { return "\(row).\(keyColumn)" }
    return "json_array(\(keyNames.map { "\(row).\(quoted($0))" }.joined(separator: ", ")))"
  }

  /// A condition that is true if the row `row` has this key. It uses the key's index.
  /// - Parameter parent: the parent's record id, which a child needs too.
  func hasKey(_ row: String, _ key: String, parent: String = ListScope.parent) -> String {
    let ofParent = parentColumn.map { ["\(row).\($0) = \(parent)"] } ?? []
    let own =
      resource.hasCompositeKey
      ? keyParts.enumerated().map { "\(row).\(equals($1)) \(Self.value(at: "'$[\($0)]'", in: key))" }
      : resource.isDetail ? [] : ["\(row).\(keyColumn) = \(key)"]
    return (ofParent + own).joined(separator: " AND ")
  }

  /// True for a child of windows whose records have keys.
  var isOfWindows: Bool { resource.each?.windows != nil && !resource.isDetail }

  /// Selects the record id and the parent's record id of the records with key ?1 below other parents than ?2.
  var selectBelowOthers: String {
    let own =
      resource.hasCompositeKey
      ? keyParts.enumerated().map { "t.\(equals($1)) \(Self.value(at: "'$[\($0)]'", in: "?1"))" }
      : ["t.\(keyColumn) = ?1"]
    let other = "t.\(parentColumn ?? "0") <> ?2"
    return
      "SELECT t.\(id), t.\(parentColumn ?? "0") FROM \(from) t WHERE \((own + [other]).joined(separator: " AND "))"
  }

  /// A condition that is true if the row `row` has the key of a document of `changes`. Its parent may be another one.
  func hasKey(_ row: String, inDocument document: String) -> String {
    zip(keyParts, keyParts(inDocument: document)).map { "\(row).\(equals($0)) \($1)" }.joined(separator: " AND ")
  }

  /// The column of a part of the key, and the operator that compares it: a part with `null = true` may be NULL.
  private func equals(_ part: Int) -> String {
    "\(quoted(resource.columns[part].name)) \(resource.columns[part].isNullable ? "IS" : "=")"
  }

  private func keyParts(inDocument document: String) -> [String] {
    keyNames.map { Self.value(at: literal("$.\(quoted($0))"), in: document) }
  }

  /// The key in a document of `changes`. A detail has none there (`DocumentKey`).
  func key(inDocument document: String) -> String {
    let parts = keyParts(inDocument: document)
    return resource.hasCompositeKey ? "json_array(\(parts.joined(separator: ", ")))" : parts.first ?? "NULL"
  }

  /// A value in JSON. SQLite ends a text at NUL there, so NUL is masked meanwhile.
  static func value(at path: String, in json: String) -> String {
    let (nul, part) = (#"'\u0000'"#, "(\(json) -> \(path))")
    let masked = masks.reduce(part) { "replace(\($0), \($1.json), \($1.mask))" }
    let whole = masks.reversed().reduce("json_extract(\(masked), '$')") { "replace(\($0), \($1.mask), \($1.text))" }
    return """
      CASE WHEN instr(\(json), \(nul)) AND instr(\(part), \(nul)) THEN \(whole) ELSE json_extract(\(json), \(path)) END
      """
  }

  /// U+FDD0, a character that no language has (Unicode 23.7), begins each mask. It is masked first and unmasked last,
  /// so that a text may contain it too. The backslash comes before NUL, whose escape begins with one.
  private static let masks: [(json: String, mask: String, text: String)] = {
    let first = "char(64976)"
    return [
      (first, "\(first) || 0", first), (#"'\\'"#, "\(first) || 1", #"'\'"#),
      (#"'\u0000'"#, "\(first) || 2", "char(0)"),
    ]
  }()

  /// The record id of the parent in a document of `changes`; 0 without a parent.
  func parent(inDocument document: String) -> String {
    resource.parentColumn.map { "json_extract(\(document), \(literal("$.\(quoted($0))")))" } ?? "0"
  }

  // MARK: Tables

  /// The names without which the cache is damaged.
  var requiredNames: [String] {
    let parts = resource.search.isEmpty ? [] : ["", "_data", "_idx", "_config"]
    return [resource.table] + resource.lists.map(\.table) + parts.map { "\(resource.table)_fts\($0)" }
  }

  var create: [String] {
    // AUTOINCREMENT never gives a record id to another key. An integer key is its own record id.
    var first = hasOwnIDs ? ["\(Self.ownID) INTEGER PRIMARY KEY AUTOINCREMENT"] : []
    if let parentColumn { first.append(parentColumn + (hasOwnIDs ? " INTEGER NOT NULL" : " INTEGER PRIMARY KEY")) }
    let isAlone = parent == nil && !resource.hasCompositeKey
    let columns = resource.columns.enumerated().map { index, column in
      quoted(column.name)
        + (index == key && isAlone
          ? (hasTextKey ? " TEXT NOT NULL UNIQUE" : " INTEGER PRIMARY KEY") : type(column))
    }
    let last = ["extra TEXT", "first_sync INTEGER NOT NULL", "changed_sync INTEGER NOT NULL"]
    let parts = (parentColumn.map { [$0] } ?? []) + keyNames.map(quoted)
    var unique = isAlone || resource.isDetail ? [] : ["UNIQUE (\(parts.joined(separator: ", ")))"]
    // The windows that list a key are looked up by the key alone.
    if isOfWindows { unique.append("UNIQUE (\((keyNames.map(quoted) + parts.prefix(1)).joined(separator: ", ")))") }
    return ["CREATE TABLE main.\(table)(\((first + columns + last + unique).joined(separator: ", ")))"]
      + resource.lists.map(create)
      + createIndex
  }

  private func create(_ list: Resource.List) -> String {
    let columns = list.columns.map { quoted($0.name) + type($0) } + (list.hasExtra ? ["extra TEXT"] : [])
    return """
      CREATE TABLE main.\(quoted(list.table))(\(owner) INTEGER NOT NULL, position INTEGER NOT NULL,
        \(columns.joined(separator: ", ")), PRIMARY KEY (\(owner), position)) WITHOUT ROWID
      """
  }

  /// Creates an empty index of words. It stores no lengths of texts, which only `ORDER BY rank` needs: FTS5 then counts
  /// the words of each found record (sqlite.org/fts5.html#the_columnsize_option).
  var createIndex: [String] {
    guard let index else { return [] }
    let rowID = hasOwnIDs ? Self.ownID : key.map { resource.columns[$0].name } ?? resource.parentColumn ?? ""
    let content = "content=\(literal(resource.table)), content_rowid=\(literal(rowID))"
    return [
      """
      CREATE VIRTUAL TABLE main.\(index) USING fts5(\(searched), \(content), columnsize=0,
        tokenize='unicode61 remove_diacritics 2')
      """
    ]
  }

  /// The index of words is dropped before its table.
  var drop: [String] {
    dropIndex + (resource.lists.map { quoted($0.table) } + [table]).map { "DROP TABLE IF EXISTS main.\($0)" }
  }

  var dropIndex: [String] { index.map { ["DROP TABLE IF EXISTS main.\($0)"] } ?? [] }

  private func type(_ column: Resource.Column) -> String {
    let isRequired = column.type.isText || keyParts.contains { resource.columns[$0] == column }
    return " \(column.type.sql)" + (isRequired && !column.isNullable ? " NOT NULL" : "")
  }

  // MARK: Records

  /// The columns besides those of `written`, in the order of their parameters. NULL makes a new record id.
  private var managed: [String] {
    ["first_sync", "changed_sync"] + (parentColumn.map { [$0] } ?? []) + (hasOwnIDs ? [Self.ownID] : [])
  }

  /// Looks a key up. Returns the record id, then the columns of `written`.
  var select: String {
    let isIt = hasKey("t", "?1", parent: "?2")
    return "SELECT \(id), \(written.joined(separator: ", ")) FROM \(from) AS t WHERE \(isIt)"
  }

  /// Takes the columns of `written`, then the sync, the parent's record id, and the record id. NULL makes a new id.
  var insert: String {
    let count = written.count
    let marks =
      written.indices.map { "?\($0 + 1)" } + ["?\(count + 1)", "?\(count + 1)"]
      + (parent == nil ? [] : ["?\(count + 2)"]) + (hasOwnIDs ? ["?\(count + 3)"] : [])
    return """
      INSERT INTO main.\(table)(\((written + managed).joined(separator: ", ")))
      VALUES (\(marks.joined(separator: ", ")))
      """
  }

  /// Writes these of the columns of `written`, so that SQLite leaves the indexes of the others alone. Takes all columns
  /// of `written`, then the sync, then the record id.
  func update(_ parts: [Int]) -> String {
    let columns = parts.filter { !keyParts.contains($0) }.map { "\(written[$0]) = ?\($0 + 1), " }
    return """
      UPDATE main.\(table) SET \(columns.joined())changed_sync = ?\(written.count + 1)
      WHERE \(id) = ?\(written.count + 2)
      """
  }

  var delete: String { "DELETE FROM main.\(table) WHERE \(id) = ?1" }

  /// Selects the searched columns of record ?1.
  var words: String? { index.map { _ in "SELECT \(searched) FROM main.\(table) WHERE \(id) = ?1" } }

  /// Removes the words of record ?1 from the index. An external-content index needs the old values before they are
  /// deleted (sqlite.org/fts5.html#the_delete_command).
  ///
  /// The values are given one by one. An INSERT with SELECT has a statement journal, and FTS5 writes all its gathered
  /// words whenever a journal begins. That cost 28 µs per record.
  var unindex: String? {
    index.map { "INSERT INTO main.\($0)(\($0), rowid, \(searched)) VALUES ('delete', \(wordMarks))" }
  }

  var indexRecord: String? { index.map { "INSERT INTO main.\($0)(rowid, \(searched)) VALUES (\(wordMarks))" } }

  private var wordMarks: String { (1...resource.search.count + 1).map { "?\($0)" }.joined(separator: ", ") }

  var rebuildIndex: String? { index.map { "INSERT INTO main.\($0)(\($0)) VALUES ('rebuild')" } }

  /// Throws if the index contradicts itself (0) or the table (1).
  func checkIndex(rank: Int) -> String? {
    index.map { "INSERT INTO main.\($0)(\($0), rank) VALUES ('integrity-check', \(rank))" }
  }

  // MARK: Lists

  /// The columns of a list's element, and `extra` if the list has it.
  func written(_ list: Resource.List) -> [String] {
    list.columns.map { quoted($0.name) } + (list.hasExtra ? ["extra"] : [])
  }

  /// The column of a list's table that has the record id.
  var owner: String { quoted(resource.name + "_id") }

  func select(_ list: Resource.List) -> String {
    let columns = written(list).joined(separator: ", ")
    return "SELECT \(columns) FROM \(from(list.table)) WHERE \(owner) = ?1 ORDER BY position"
  }

  /// Takes the record id, the position, then the columns of `written`. An unchanged row is not written.
  func insert(_ list: Resource.List) -> String {
    let columns = written(list)
    let marks = (1...columns.count + 2).map { "?\($0)" }.joined(separator: ", ")
    let updates = columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    let differ = columns.map { "\($0) IS NOT excluded.\($0)" }.joined(separator: " OR ")
    return """
      INSERT INTO main.\(quoted(list.table)) VALUES (\(marks))
      ON CONFLICT (\(owner), position) DO UPDATE SET \(updates) WHERE \(differ)
      """
  }

  /// Inserts an element of a new record, which cannot conflict with another row.
  func insertNew(_ list: Resource.List) -> String {
    let marks = (1...written(list).count + 2).map { "?\($0)" }.joined(separator: ", ")
    return "INSERT INTO main.\(quoted(list.table)) VALUES (\(marks))"
  }

  /// A record's elements from a position on.
  func deleteFrom(_ list: Resource.List) -> String {
    "DELETE FROM main.\(quoted(list.table)) WHERE \(owner) = ?1 AND position >= ?2"
  }

  // MARK: JSON, in the form of `changes`

  /// The JSON of record ?1: its columns, `extra` as an object or null, its lists. Until the publication of
  /// another definition, it is the JSON of the earlier one.
  var json: String { stored?.json ?? "SELECT \(jsonText()) FROM main.\(table) r WHERE r.\(id) = ?1" }

  /// The same of the row `r`. A child begins with the record id of its parent.
  /// - Parameter isShown: includes `first_sync` and `changed_sync`, for people and programs that read the table.
  func jsonText(isShown: Bool = false) -> String {
    let columns = resource.columns.map { ($0.name, ValueSQL("r.\(quoted($0.name))", $0.type.form)) }
    let lists = resource.lists.map { (listName($0), ValueSQL(json: "(\(elements($0)))")) }
    let syncs = isShown ? ["first_sync", "changed_sync"].map { ($0, ValueSQL("r.\($0)", .plain)) } : []
    let parent = resource.parentColumn.map { [($0, ValueSQL("r.\(quoted($0))", .plain))] } ?? []
    return object(parent + columns + [("extra", ValueSQL("r.extra", .document))] + syncs + lists)
  }

  private func elements(_ list: Resource.List) -> String {
    let columns = list.columns.enumerated().map { "\(quoted($1.name)) AS v\($0)" } + (list.hasExtra ? ["extra"] : [])
    return """
      SELECT json_group_array(\(element(list))) FROM
        (SELECT \(columns.joined(separator: ", ")) FROM main.\(quoted(list.table))
          WHERE \(owner) = r.\(id) ORDER BY position) e
      """
  }

  /// Returns the bare value if the element itself is the only column. The columns of `e` are numbered, because SQLite
  /// does not find a column `true` or `false` of a sub-query by its name.
  private func element(_ list: Resource.List) -> String {
    let columns = list.columns.enumerated().map { ($1.name, ValueSQL("e.v\($0)", $1.type.form)) }
    if list.hasExtra { return "json(\(object(columns + [("extra", ValueSQL("e.extra", .document))])))" }
    guard columns.count == 1, let only = columns.first else { return "json(\(object(columns)))" }
    return only.1.argument
  }

  /// The names and types of the members of a document.
  var members: [[String]] {
    func names(_ columns: [Resource.Column]) -> [String] { columns.map { "\($0.name) \($0.type.rawValue)" } }
    return [names(resource.columns)] + resource.lists.map { [listName($0)] + names($0.columns) }
  }

  /// The JSON of the record with that id in these tables.
  func jsonText(of record: String) -> String {
    "SELECT \(jsonText()) FROM main.\(table) r WHERE r.\(id) = \(record)"
  }

  /// True if each stored value of the other tables is a value of these.
  func hasValues(of other: ResourceTables) -> Bool {
    members == other.members && resource.columns == other.resource.columns
      && resource.lists.map(\.at) == other.resource.lists.map(\.at)
      && resource.lists.map(\.columns) == other.resource.lists.map(\.columns)
  }

  private func object(_ members: [(name: String, value: ValueSQL)]) -> String {
    if members.count <= Self.maxMembers {
      return "json_object(\(members.map { "\(literal($0.name)), \($0.value.argument)" }.joined(separator: ", ")))"
    }
    let parts = members.enumerated().flatMap { index, member in
      [literal("\(index == 0 ? "{" : ",")\"\(member.name)\":"), member.value.text]
    }
    return concatenated((parts + ["'}'"])[...])
  }

  /// A function takes at most 127 arguments (sqlite.org/limits.html#max_function_arg).
  private static let maxMembers = 63

  /// Concatenates by halves. SQLite allows expressions of 1,000 levels (sqlite.org/limits.html#max_expr_depth), and
  /// counts those of a sub-query more than once.
  private func concatenated(_ parts: ArraySlice<String>) -> String {
    guard parts.count > 1 else { return parts.joined() }
    let half = parts.startIndex + parts.count / 2
    return "(\(concatenated(parts[..<half])) || \(concatenated(parts[half...])))"
  }

  func listName(_ list: Resource.List) -> String { listNames[list.table] ?? list.table }
}

private enum JSONText {
  static func list(_ texts: [String]) -> String {
    var json = JSONWriter()
    json.list { json in for text in texts { json.value(text) } }
    return json.text
  }
}

/// An identifier in double quotes (sqlite.org/lang_keywords.html).
func quoted(_ identifier: String) -> String {
  "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}

/// A text in single quotes. SQLite ends a statement at NUL. A combining character would hide a quotation mark from a
/// search by characters.
func literal(_ text: String) -> String {
  let parts = text.unicodeScalars.split(separator: "\0", omittingEmptySubsequences: false).map { part in
    let halves = part.split(separator: "'", omittingEmptySubsequences: false).map { String($0) }
    return "'\(halves.joined(separator: "''"))'"
  }
  return parts.count == 1 ? parts[0] : "(\(parts.joined(separator: " || char(0) || ")))"
}

/// The SQL of one value of a document.
private struct ValueSQL {
  /// An expression whose value is the JSON text.
  let text: String
  /// An argument of `json_object` and `json_group_array`, which accept JSON from JSON functions only.
  let argument: String

  /// - Parameter column: the column of the row.
  init(_ column: String, _ form: Resource.ColumnType.Form) {
    switch form {
    case .plain: self.init(text: "json_quote(\(column))", argument: column)
    case .number: self.init(json: "\(Database.numberText)(\(column))")
    case .flag: self.init(json: "CASE \(column) WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END")
    // SQLite refuses deeply nested JSON. Such a value becomes null here, so that it does not stop a sync.
    case .document: self.init(json: "CASE WHEN json_valid(\(column)) THEN \(column) ELSE 'null' END")
    }
  }

  /// - Parameter json: an expression whose value is JSON.
  init(json: String) { self.init(text: "json(\(json))", argument: "json(\(json))") }

  private init(text: String, argument: String) {
    self.text = text
    self.argument = argument
  }
}
