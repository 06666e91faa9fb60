import RosterTestSupport
import Synchronization

@testable import RosterCache

/// The plan of one statement, and what is wrong with it.
struct QueryPlan: Sendable {
  let sql: String
  /// Steps that read more than they need, each with its reason.
  let faults: [String]

  init(_ sql: String, in database: Database) throws {
    self.sql = sql
    let steps = try database.once("EXPLAIN QUERY PLAN \(sql)").rows([]) { $0.text(3) }
    let subqueries = Set(steps.compactMap(Self.subquery))
    faults = try steps.indices.compactMap { index in
      // The result of a subquery is read once; its own steps are in the plan.
      if steps[index].hasPrefix("SCAN"), let name = Self.table(steps[index]), subqueries.contains(name) { return nil }
      let later = Set(steps[(index + 1)...].compactMap(Self.table))
      return try Self.fault(of: steps[index], before: later, sql, in: database).map { "\($0)\n  in \(sql)" }
    }
  }

  /// The table's name in the plan: its alias, or else its name with the schema.
  private static func table(_ step: String) -> String? {
    let words = step.split(separator: " ")
    return ["SCAN", "SEARCH"].contains(words.first) ? words.dropFirst().first.map { bare(String($0)) } : nil
  }

  /// The name of a subquery whose result the plan reads as a table.
  private static func subquery(_ step: String) -> String? {
    let words = step.split(separator: " ")
    return ["CO-ROUTINE", "MATERIALIZE"].contains(words.first) ? words.dropFirst().first.map { bare(String($0)) } : nil
  }

  /// The plan names the table below the view `changes`.
  /// - Parameter later: Tables that the plan reads later: their columns are no values to look up by.
  private static func fault(
    of step: String, before later: Set<String>, _ sql: String, in database: Database
  ) throws -> String? {
    if step.contains("AUTOMATIC") { return "automatic index: \(step)" }
    guard let table = table(step), !step.contains("VIRTUAL TABLE"), !isIntended(step, sql: sql) else { return nil }
    if step.hasPrefix("SCAN") { return "scan: \(step)" }
    guard
      let scope = Scope(of: table, in: Self.withoutViews(sql))
    else {
      return "table not found: \(step)"
    }
    let used = equalities(in: step)
    if try isUnique(used, table: scope.table, in: database) { return nil }
    let unused = try database.rows("SELECT name FROM pragma_table_xinfo(?)", .text(scope.table)) { $0.text(0) }
      .filter { !used.contains($0) && scope.hasEquality(on: $0, later: later) }
    return unused.isEmpty ? nil : "\(unused.joined(separator: ", ")) without an index: \(step)"
  }

  /// `resource` and `key` of `(resource=? AND key=?)`; nothing of `(key>?)`.
  private static func equalities(in step: String) -> [String] {
    guard let open = step.lastIndex(of: "("), let close = step.lastIndex(of: ")"), open < close else { return [] }
    return step[step.index(after: open)..<close].split(separator: " ").filter { $0.hasSuffix("=?") }
      .map { String($0.dropLast(2)) }
  }

  /// True if equal values in these columns find at most one row.
  private static func isUnique(_ columns: [String], table: String, in database: Database) throws -> Bool {
    if columns == ["rowid"] { return true }
    let unique = "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND NOT partial"
    return try database.rows(unique, .text(table)) { $0.text(0) }.contains { index in
      let parts = try database.rows("SELECT name FROM pragma_index_info(?)", .text(index)) { $0.text(0) }
      return Set(parts).isSubset(of: columns)
    }
  }

  // MARK: What may be read as a whole

  /// A part of a step or a statement, and why it may read a whole table.
  private static let intended: [(part: String, reason: String)] = [
    ("CONSTANT ROW", "no table"), ("(SELECT ?1 AS resource, ?2 AS address) a", "one row of values"),
    ("next.page SET number", "a pull begins: all pages"), ("EXISTS (SELECT 1 FROM next.", "ends at the first row"),
    ("is_guarded = 1", "a pull is guarded: all pages"), ("FROM next.pull", "one row"), ("next.pull SET", "one row"),
    ("next.decision", "a row for each resource"),
    ("same SELECT * FROM", "a concluded pull is kept, or read by a reader"),
    ("FROM next.lie", "a row for each resource"), ("FROM next.pause", "read once by a process"),
    ("FROM next.list", "read once by a process"), ("DELETE FROM next.", "all pages are dropped"),
    ("FROM main.resources", "a row for each resource"),
    ("cache_identity", "one row"), ("cache_info", "a view of one row"),
    (".cut", "an index of the records whose lists are cut"),
    ("sqlite_schema", "a row for each table"), ("sqlite_sequence", "a row for each table"),
    ("FROM main.syncs ORDER BY id DESC LIMIT", "ends at the limit"),
    ("outcome <> 'running' ORDER BY id DESC LIMIT 1", "ends at the last sync but one"),
    ("?1 ORDER BY id DESC LIMIT 1\n", "pruning ends at the oldest rows, in the order of ids"),
    ("LIMIT ?2 OFFSET ?3", "ends at the page"),
    ("FROM main.rejects\nORDER BY resource, parent_id, page, position", "lists all rejected records"),
    ("FROM main.cache_unlisted u JOIN main.cache_lists", "counts all absent records"),
    ("temp.lists SET state = 0, parent = NULL WHERE state", "a pull begins: all lists of the file"),
    ("FROM main.\"things\" r\n", "one row, in memory"),
    ("FROM main.\"cache_old_", "another definition reads each record once"),
    ("temp.\"waiting_", "a view of one table, whose own statement is looked at too"),
    ("cache_record_ids", "the highest id of a table that is dropped"),
  ]

  /// The plan names the tables below the views.
  private static func withoutViews(_ sql: String) -> String {
    sql.replacing(/\bchanges\b/.wordBoundaryKind(.simple), with: "cache_changes")
      .replacing("temp.pulled ", with: "next.page ").replacing("temp.answers ", with: "next.page ")
  }

  private static func isIntended(_ step: String, sql: String) -> Bool {
    intended.contains { step.contains($0.part) || "\(sql)\n".contains($0.part) }
  }
}

/// The part of a statement that names a table, with its conditions.
private struct Scope {
  let table: String
  private let alias: String
  /// Conditions of `WHERE` and `ON`, without the text in parentheses.
  private let conditions: [String]

  /// - Parameter alias: As `EXPLAIN QUERY PLAN` names the table, without its schema.
  init?(of alias: String, in sql: String) {
    let keywords = ["FROM", "JOIN", "INTO", "UPDATE"]
    let words = words(sql)
    let clean = words.map { $0.filter { !"(),;".contains($0) } }
    let found = clean.indices.dropFirst().first { index in
      guard bare(clean[index]) == alias else { return false }
      return (keywords + ["AS"]).contains(clean[index - 1]) || index > 1 && keywords.contains(clean[index - 2])
    }
    guard let found else { return nil }
    let named = keywords.contains(clean[found - 1]) ? found : clean[found - 1] == "AS" ? found - 2 : found - 1
    table = bare(clean[named])
    // The plan does not have the alias of a view.
    let next = found + 1 < clean.count ? clean[found + 1] : ""
    self.alias = alias == "cache_changes" && !next.isEmpty && next.allSatisfy(\.isLowercase) ? next : alias
    let level = Self.level(of: words, around: named)
    conditions = Array(level.drop { !["WHERE", "ON"].contains($0) })
  }

  /// The words in the same parentheses as one of them, without deeper ones, up to the end of the query.
  private static func level(of words: [String], around position: Int) -> [String] {
    var depths: [Int] = []
    var depth = 0
    for word in words {
      // A word that opens or closes belongs to the outer level, but for the first word after `(`.
      depth += word.hasPrefix("(") ? 1 : 0
      depths.append(depth)
      depth += word.dropFirst(word.hasPrefix("(") ? 1 : 0).count { $0 == "(" } - word.count { $0 == ")" }
    }
    let own = depths[position]
    let start = depths[..<position].lastIndex { $0 < own } ?? -1
    let end = depths[position...].firstIndex { $0 < own } ?? words.endIndex
    let level = (start + 1..<end).filter { depths[$0] == own }
    let last = level.first { $0 > position && words[$0] == "CONFLICT" } ?? end
    return level.filter { $0 < last }.map { words[$0].filter { !"(),;".contains($0) } }
  }

  /// True if the column is compared with a value that is known when the table is read.
  func hasEquality(on column: String, later: Set<String>) -> Bool {
    conditions.indices.dropFirst().dropLast().contains { index in
      let (left, right) = (conditions[index - 1], conditions[index + 1])
      if conditions[index] == "IN" { return names(left, column: column) }
      guard conditions[index] == "=" else { return false }
      return names(left, column: column) && isKnown(right, later: later)
        || names(right, column: column) && isKnown(left, later: later)
    }
  }

  private func names(_ word: String, column: String) -> Bool {
    let parts = word.split(separator: ".").map { $0.filter { $0 != "\"" } }
    return parts == [column] || parts == [alias, column]
  }

  /// A parameter, or a column of a table that was read before. Numbers and texts only narrow a result.
  private func isKnown(_ word: String, later: Set<String>) -> Bool {
    if word.hasPrefix("?") { return true }
    let parts = word.split(separator: ".")
    return parts.count > 1 && !later.contains(String(parts[0]))
  }
}

private func words(_ sql: String) -> [String] { sql.split { " \n".contains($0) }.map(String.init) }

/// A name without its schema and quotes.
private func bare(_ name: String) -> String { (name.split(separator: ".").last ?? "").filter { $0 != "\"" } }

/// The plans of all statements that run while it inspects.
final class QueryPlans: Sendable {
  private let plans = Mutex<[String: QueryPlan]>([:])

  private let names = Mutex<Set<String>>([])

  var all: [QueryPlan] { plans.withLock { Array($0.values) } }
  /// Names of tables without a schema, each with its statement.
  var unqualified: [String] { names.withLock { $0.sorted() } }

  func inspect(_ body: () async throws -> Void) async throws {
    try await Database.$inspect.withValue({ try self.note($1, in: $0) }, operation: body)
  }

  private func note(_ sql: String, in database: Database) throws {
    let unqualified = SQLNames.unqualifiedTables(in: sql)
    if !unqualified.isEmpty { names.withLock { $0.formUnion(unqualified.map { "\($0) in \(sql)" }) } }
    // A text that makes tables has no other statement.
    if sql.contains("CREATE ") || sql.hasPrefix("EXPLAIN") || sql.contains("pragma_") { return }
    for part in sql.split(separator: ";").map({ String($0.drop { " \n".contains($0) }) }) {
      guard ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(where: part.hasPrefix) else { continue }
      if plans.withLock({ $0[part] != nil }) { continue }
      let plan = try QueryPlan(part, in: database)
      plans.withLock { $0[part] = plan }
    }
  }
}
