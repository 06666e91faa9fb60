internal import CPostgres
package import RosterCore

/// An error that the server reported for a statement (PostgreSQL manual, "PostgreSQL Error Codes").
package struct PostgresFailure: Error, Sendable, Equatable {
  /// SQLSTATE, five characters.
  package let state: String
  /// Message and detail of the server, on one line.
  package let message: String
  /// The server without user and password.
  let server: String
  /// False if the database has another encoding than UTF8.
  let isUTF8: Bool
  /// True if the server is known to be a standby.
  var isStandby = false

  init(_ result: OpaquePointer, server: String, isUTF8: Bool) {
    func field(_ code: Character) -> String? {
      code.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
    }
    state = field("C") ?? ""
    message = Self.oneLine(
      [field("M"), field("D")].compactMap(\.self).joined(separator: " (") + (field("D") == nil ? "" : ")"))
    self.server = server
    self.isUTF8 = isUTF8
  }

  /// True if another session holds a lock that the statement needs.
  package var isLocked: Bool { state == "55P03" }

  /// True if a value is beyond a limit of the server, such as the one for a row of an index.
  var isTooLarge: Bool { state == "54000" }

  /// True if the transaction may only read.
  var isReadOnly: Bool { state == "25006" }

  /// True if other objects depend on the one to drop.
  var isDependedOn: Bool { state == "2BP01" }

  /// The error as people read it.
  /// - Parameters:
  ///   - step: An infinitive.
  ///   - advice: What to do if the statement itself is wrong; nil for the usual advice.
  package func failure(_ step: String, advice: String? = nil) -> Failure {
    let isOfStatement = kind != .unreachable && state.prefix(2) != "53"
    return Failure(kind, step: step, subject: server, cause: message, hint: isOfStatement ? advice ?? hint : hint)
  }

  private var kind: Failure.Kind {
    switch state.prefix(2) {
    case "08", "57": .unreachable
    case "28": .refused
    default: state == "42501" ? .refused : isLocked || state == "25006" ? .unreachable : .cannotWrite
    }
  }

  /// Advice for the user; nil if there is no advice for this error.
  private var hint: String? {
    switch state {
    case "42501":
      "connect as the role that owns the schema and its tables, or let this one create schemas (GRANT CREATE ON DATABASE …)"
    case "55P03":
      "another session holds a lock: SELECT pid, query FROM pg_stat_activity WHERE state <> 'idle' shows it"
    case "25006" where isStandby:
      "the server is a standby: name the primary, or all servers with target_session_attrs=read-write"
    case "25006": "default_transaction_read_only is on for the server, the database or the role: set it to off"
    case "53100": "make room on the server's disk; nothing is lost, and the next try goes on from the same place"
    case "42P01", "42703", "42P10", "42804", "23502", "23503", "23505", "23514", "22001", "22003", "22P02":
      Self.freshHint
    case "P0001": "a trigger on a table raised this error: drop the trigger or change it"
    case "22P05" where !isUTF8, "0A000" where !isUTF8:
      "the database has another encoding than UTF8: make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
    case "0A000": "if the table has a rule ON INSERT or ON UPDATE, drop it: a trigger can take its place"
    case "42P07", "42710":
      "another object in the schema has this name: rename it, or give the table another name in the definition"
    case "2BP01":
      "a view, rule, foreign key or function depends on the table: drop it and try again; after a copy it can be made again"
    default: nil
    }
  }

  static let freshHint =
    "the tables were altered or are not as rosterd made them: rosterd-postgres sync --fresh copies everything again"

  static func lost(_ message: String, server: String) -> Failure {
    Failure(
      .unreachable, step: "write to PostgreSQL", subject: server,
      cause: message.isEmpty ? "the connection was lost" : oneLine(message),
      hint: "nothing is lost: the next try goes on from the same place")
  }

  /// libpq ends its messages with a line break. It may use several lines, which begin with a tab.
  static func oneLine(_ text: String) -> String {
    text.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }.joined(separator: "; ")
  }
}

/// The tries of `run` since the last copy that succeeded.
package struct Tries: Sendable {
  /// Position of the last copy that succeeded; nil before the first.
  package private(set) var last: ReplicaPosition?
  private var seconds = 0
  /// Time of the first of the failures in a row whose reason was that another session has the schema.
  private var firstOwned: ContinuousClock.Instant?

  /// No try was made yet.
  package init() {}

  /// Call this when the schema has the cache's snapshot.
  package mutating func succeeded(at position: ReplicaPosition) {
    self = Tries()
    last = position
  }

  /// True if another try may succeed. The session of a program that was killed, or whose network dropped everything,
  /// keeps the schema until the server notices.
  package mutating func mayFollow(_ failure: Failure, at now: ContinuousClock.Instant) -> Bool {
    guard failure.kind == .owned else {
      firstOwned = nil
      return failure.kind != .configuration
    }
    let first = firstOwned ?? now
    firstOwned = first
    return now - first < Self.maxOwned
  }

  /// Seconds until the next try: 1, then twice as many each time, at most 30.
  package mutating func pause() -> Int {
    seconds = min(max(1, seconds * 2), firstOwned == nil ? 30 : 5)
    return seconds
  }

  private static let maxOwned = Duration.seconds(60)
}
