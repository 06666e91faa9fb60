import FoundationEssentials
import Logging
import RosterCache
import RosterFiles
import RosterModel
import RosterPostgres
import RosterSystemd

/// Follows a cache into one schema: a transaction for each publication, and another try after each failure.
struct Follower {
  let cache: String
  let target: PostgresTarget
  let schema: String
  let reports: Reports

  private let log = rosterLog(LogSettings(level: .info))

  init(cache: String, target: PostgresTarget, schema: String, reports: Reports) {
    self.cache = cache
    self.target = target
    self.schema = schema
    self.reports = reports
  }

  /// Returns after SIGTERM or SIGINT.
  /// - Throws: `Failure` that no other try can repair: 75, 78.
  func run() throws {
    let stop = StopSignal()
    let watch = CacheWatch(cache: cache, stop: stop)
    let notify = Notify()
    var delay = Backoff()
    notify.ready(status: "connecting to \(target.shown)", now: Date())
    do {
      while true {
        do {
          try follow(stop, watch, notify) { delay = Backoff() }
        } catch let failure as Failure where failure.kind != .owned && failure.kind != .configuration {
          report(failure, notify)
          if stop.came(within: delay.next()) { throw Stopped() }
        }
      }
    } catch is Stopped { notify.stopping() }
  }

  /// One connection and one reader, until one of them fails or another file has the cache's name.
  private func follow(_ stop: StopSignal, _ watch: CacheWatch, _ notify: Notify, _ onSuccess: () -> Void) throws {
    let connection = try PostgresConnection(target, stop: stop.descriptor)
    let replica = try Replica(connection, schema: schema)
    let copy = CatchUp(cache: cache, replica: replica)
    let identity = Inode(cache)
    let reader = try CacheReader(path: cache)
    repeat {
      let seen = try reader.writes()
      let report = try copy.run(reader)
      if let done = report.done { log.info("\(done)", metadata: ["snapshot": "\(report.position.snapshot)"]) }
      reports.succeeded(try replica.state(), cache: cache, server: connection.server)
      _ = notify.status("snapshot \(report.position.snapshot) is in \(schema) of \(target.shown)", now: Date())
      onSuccess()
      try wait(reader, since: seen, identity, watch, notify)
    } while Inode(cache) == identity
  }

  /// Returns when the cache has other contents, or another file has its name.
  private func wait(
    _ reader: CacheReader, since seen: Int64, _ identity: Inode?, _ watch: CacheWatch, _ notify: Notify
  ) throws {
    while true {
      notify.watchdog()
      guard watch.wait(milliseconds: 1_000) else { throw Stopped() }
      if Inode(cache) != identity { return }
      if try reader.writes() != seen { return }
    }
  }

  private func report(_ failure: Failure, _ notify: Notify) {
    log.error("\(failure)")
    _ = notify.status("\(failure)", now: Date())
    notify.watchdog()
    reports.failed(failure, cache: cache, server: target.shown)
  }
}

/// Pauses between two tries: 1 s, then twice as long each time, at most 30 s.
struct Backoff {
  private var milliseconds: Int32 = 500

  /// The next pause.
  mutating func next() -> Int32 {
    milliseconds = min(milliseconds * 2, 30_000)
    return milliseconds
  }
}
