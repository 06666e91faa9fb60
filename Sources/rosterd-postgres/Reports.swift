import FoundationEssentials
import RosterCache
import RosterCore
import RosterPostgres

/// The changes that a schema lacks, and their age.
struct Lag: Equatable {
  /// Rows of `changes` that the schema lacks; nil if everything will be copied.
  var changes: Int64?
  /// Time since the oldest publication that the schema lacks, in seconds; 0 if it has all.
  var seconds: Double

  init(_ snapshot: SnapshotExport, behind state: Replica.State?, now: Date = Date()) throws {
    guard let state, state.position.feed == snapshot.position.feed else {
      (changes, seconds) = (nil, Self.age(snapshot.publishedAt, now: now))
      return
    }
    changes = max(0, snapshot.position.change - state.position.change)
    guard state.position.snapshot != snapshot.position.snapshot else {
      seconds = 0
      return
    }
    let oldest = try snapshot.oldestPublication(after: state.position.snapshot)
    seconds = Self.age(oldest ?? snapshot.publishedAt, now: now)
  }

  private static func age(_ time: String?, now: Date) -> Double {
    guard let time, let then = try? Date(time, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    else {
      return 0
    }
    return max(0, now.timeIntervalSince(then))
  }
}

/// Leaves the result of each try where monitors and `rosterctl status` look for it.
struct Reports {
  let textfile: String?
  let schema: String
  let warn: (String) -> Void

  /// - Throws: `Failure` of an option, which is a failed try too.
  func places(of options: Options) throws(Failure) -> (cache: String, target: PostgresTarget) {
    do throws(Failure) { return (try options.cachePath(), try options.target()) } catch {
      writeMetrics(up: false, nil)
      throw error
    }
  }

  func succeeded(_ state: Replica.State?, cache: String, server: String) {
    guard let state else { return }
    FollowerFile(
      cache: cache, server: server, schema: schema, snapshot: state.position.snapshot, change: state.position.change,
      appliedAt: state.appliedAt, error: nil
    ).save()
    writeMetrics(up: true, state)
  }

  func failed(_ failure: Failure, cache: String, server: String) {
    var file = FollowerFile.own() ?? FollowerFile(cache: cache, server: server, schema: schema)
    file.error = "\(failure)"
    file.save()
    writeMetrics(up: false, nil)
  }

  private func writeMetrics(up: Bool, _ state: Replica.State?) {
    guard let textfile else { return }
    let escaped = schema.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    let label = "{schema=\"\(escaped)\"}"
    var metrics = [("up", "1 if the last try to write to PostgreSQL succeeded.", Int64(up ? 1 : 0))]
    if let state {
      metrics += [
        ("snapshot", "Sync that published the snapshot in PostgreSQL (syncs.id).", state.position.snapshot),
        ("change", "Largest changes.id in PostgreSQL.", state.position.change),
        ("replaced_values", "Values in which PostgreSQL refused a character.", Int64(state.replaced)),
        (
          "checked_timestamp_seconds", "Time of the last try that succeeded.", Int64(Date().timeIntervalSince1970)
        ),
      ]
    }
    let text = metrics.map { name, help, value in
      let name = "rosterd_postgres_\(name)"
      return "# HELP \(name) \(help)\n# TYPE \(name) gauge\n\(name)\(label) \(value)\n"
    }.joined()
    let file = WholeFile(textfile, mode: 0o644, isUsers: true)
    do throws(FileError) { try file.replace(with: Array(text.utf8)) } catch {
      warn("cannot write the metrics (\(textfile)): cannot \(error.step) \(error.path): \(error.error.text)")
    }
  }
}
