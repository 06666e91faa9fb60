import FoundationEssentials
import RosterFiles
import RosterModel
import RosterPostgres

/// The output of `rosterd-postgres status`.
struct FollowerStatus: Encodable {
  /// Path of the cache.
  var cache: String
  /// The server without user and password.
  var server: String
  /// Schema with the copied tables.
  var schema: String
  /// Sync that published the snapshot in PostgreSQL; nil before the first copy.
  var snapshot: Int64?
  /// Largest `changes.id` in PostgreSQL; nil before the first copy.
  var change: Int64?
  /// Rows of `changes` that PostgreSQL lacks; nil if everything will be copied.
  var behind: Int64?
  /// Age of the oldest publication that it lacks, in seconds.
  var lag: Double
  /// Time of the last transaction, RFC 3339.
  var appliedAt: String?
  /// Values in which PostgreSQL refused a character.
  var replaced: Int
  /// Last error of a service that follows; nil if its last try succeeded or none runs.
  var lastError: String?

  init(_ state: Replica.State?, lag: Lag, cache: String, server: String, schema: String, last: FollowerFile?) {
    self.cache = cache
    self.server = server
    self.schema = schema
    snapshot = state?.position.snapshot
    change = state?.position.change
    behind = lag.changes
    self.lag = lag.seconds
    appliedAt = state?.appliedAt
    replaced = state?.replaced ?? 0
    lastError = last?.error
  }

  /// A line for each fact.
  var text: String {
    var lines = ["cache      \(cache)", "copied to  schema \(schema) of \(server)"]
    if let snapshot, let appliedAt {
      lines.append("position   snapshot \(snapshot), change \(change ?? 0), written at \(appliedAt)")
    } else {
      lines.append("position   nothing has been copied yet")
    }
    switch behind {
    case 0 where lag == 0: lines.append("lag        none")
    case let behind?: lines.append("lag        \(Int(behind).counted(as: "change")), \(Int(lag)) s")
    case nil: lines.append("lag        everything will be copied again")
    }
    if replaced > 0 {
      lines.append("replaced   \(replaced.counted(as: "value")) had characters that PostgreSQL refuses")
    }
    if let lastError { lines.append("last error \(lastError)") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// One object on a line.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return ((try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}") + "\n"
  }
}
