import ArgumentParser
import FoundationEssentials
import Logging
import RosterCache
import RosterCore
import RosterPostgres
import RosterSystemd

/// Follows until it is stopped.
struct FollowCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Follows the cache until SIGTERM or SIGINT.")
  @OptionGroup var options: Options

  func run() throws {
    let log = rosterLog(LogSettings(level: .info))
    let reports = Reports(textfile: options.textfile, schema: options.schema) { log.warning("\($0)") }
    let (cache, target) = try reports.places(of: options)
    try Follower(cache: cache, target: target, schema: options.schema, reports: reports, log: log).run()
  }
}

/// Catches up once.
struct CatchUpCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "sync", abstract: "Catches up once, then exits.")
  @OptionGroup var options: Options
  @Flag(help: "Copy everything again.")
  var fresh = false

  func run() throws {
    let stop = StopSignal()
    let reports = Reports(textfile: options.textfile, schema: options.schema, warn: tell)
    let (cache, target) = try reports.places(of: options)
    let report: CatchUp.Report
    do {
      let connection = try PostgresConnection(target, stop: stop.descriptor)
      connection.report(tell)
      let replica = try Replica(connection, schema: options.schema)
      let reader = try CacheReader(path: cache)
      report = try CatchUp(cache: cache, replica: replica).run(reader, from: try replica.state(), isFresh: fresh)
      reports.succeeded(try replica.state(), cache: cache, server: connection.server)
    } catch is Stopped {
      throw Failure(
        .cancelled, step: "copy the snapshot", subject: options.schema, cause: "a signal stopped it",
        hint: "nothing was changed; the next run begins from the same place")
    } catch let failure as Failure {
      reports.failed(failure, cache: cache, server: target.shown)
      throw failure
    }
    try answer("\(report.done ?? "already up to date") (snapshot \(report.position.snapshot))\n")
  }
}

/// Reports position and lag.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows the position of the copy and its lag.")
  @OptionGroup var options: Options
  @Flag(help: "Print JSON.")
  var json = false

  func run() throws {
    let connection = try PostgresConnection(try options.target(), stop: StopSignal().descriptor)
    let state = try Replica(connection, schema: options.schema).state()
    let cache = try options.cachePath()
    let lag = try CacheReader(path: cache).export { try Lag($0, behind: state) }
    let last = FollowerFile.all().first { $0.schema == options.schema && $0.server == connection.server }
    let view = FollowerStatus(
      state, lag: lag, cache: cache, server: connection.server, schema: options.schema, last: last)
    try answer(json ? view.json : view.text)
  }
}

/// Removes the schema and its tables.
struct DropCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drop", abstract: "Removes the tables that rosterd-postgres made.")
  @OptionGroup var options: Options

  func run() throws {
    let connection = try PostgresConnection(try options.target(), stop: StopSignal().descriptor)
    let dropped = try Replica(connection, schema: options.schema).drop()
    let done =
      dropped.tables > 0
      ? "removed rosterd's tables from the schema \(options.schema)"
      : "removed nothing: there are no tables of rosterd in the schema \(options.schema)"
    try answer("\(done)\(dropped.schemaStays ? "; the schema stays" : "")\n")
  }
}

extension PostgresConnection {
  /// Reports faults of the connection's settings, now and while it is used.
  func report(_ warn: @escaping (String) -> Void) {
    if isUnprotected {
      warn("the connection to \(server) is not encrypted: add sslmode=verify-full to the connection URL")
    }
    onSlowCommit = { [server] in
      warn("\(server) has not confirmed a COMMIT for 5 s: see whether its synchronous standby answers")
    }
  }
}

/// One sentence on stderr, for people.
func tell(_ sentence: String) {
  try? write(Array("rosterd-postgres: \(sentence.printable)\n".utf8), to: 2)
}

/// On stdout.
func answer(_ text: String) throws {
  do throws(SystemError) { try write(Array(text.utf8), to: 1) } catch {
    if error.code == 32 { return }
    throw Failure(.cannotWrite, step: "write the answer", subject: "standard output", cause: error.text)
  }
}
