import FoundationEssentials
import Logging
import RosterCache
import RosterCore
import RosterDefinition
import RosterPostgres
import RosterSystemd

/// Follows a cache into one schema: a transaction for each publication, and another try after each failure.
struct Follower {
  let cache: String
  let target: PostgresTarget
  let schema: String
  let reports: Reports
  let log: Logger

  /// Returns after SIGTERM or SIGINT.
  /// - Throws: `Failure` that no other try can repair: 78, and 75 if the schema stays taken.
  func run() throws {
    let stop = StopSignal()
    let notify = Notify()
    var tries = Tries()
    notify.ready(status: "connecting to \(target.shown)", now: Date())
    do {
      while true {
        // The folder of the cache may be new or another one.
        let watch = CacheWatch(cache: resolved(cache), stop: stop)
        do {
          try follow(stop, watch: watch, notify: notify, tries: &tries)
        } catch let failure as Failure {
          reports.failed(failure, cache: cache, server: target.shown)
          guard tries.mayFollow(failure, at: .now) else { throw failure }
          log.error("\(failure)")
          try pause(tries.pause(), watch: watch) { show("\(failure)", notify: notify) }
        }
      }
    } catch is Stopped { notify.stopping() }
  }

  /// A publication ends the pause: it may be the first one.
  private func pause(_ seconds: Int, watch: CacheWatch, show: () -> Void) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while true {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { return }
      show()
      if try watch.wait(milliseconds: Int32(min(left, .seconds(1)) / .milliseconds(1)) + 1) == .publication { return }
    }
  }

  /// Reports the status and a sign of life. The caller repeats it every second, since a status that follows another one
  /// too early is only sent by the next call.
  private func show(_ status: String, notify: Notify) {
    notify.watchdog()
    _ = notify.status(status, now: Date())
  }

  /// One connection and one reader, until one of them fails or another file has the cache's name.
  private func follow(_ stop: StopSignal, watch: CacheWatch, notify: Notify, tries: inout Tries) throws {
    let connection = try PostgresConnection(target, stop: stop.descriptor)
    let beat = Heartbeat(notify)
    connection.onProgress = { beat.beat() }
    connection.report { [log] in log.warning("\($0)") }
    let replica = try Replica(connection, schema: schema)
    let copy = CatchUp(cache: cache, replica: replica)
    let identity = Inode(cache)
    let reader = try CacheReader(path: cache)
    repeat {
      let (seen, known) = (try reader.dataVersion(), try replica.state())
      if let last = tries.last { try noticeStepBack(from: last, to: known?.position, reader) }
      let report = try copy.run(reader, from: known)
      if let done = report.done { log.info("\(done)", metadata: ["snapshot": "\(report.position.snapshot)"]) }
      reports.succeeded(try replica.state(), cache: cache, server: connection.server)
      tries.succeeded(at: report.position)
      let status = "snapshot \(report.position.snapshot) is in \(schema) of \(target.shown)"
      let arrived = Arrived(seen: seen, identity: identity, position: report.position)
      try wait(reader, since: arrived, watch: watch, connection: connection, replica: replica) {
        show(status, notify: notify)
      }
    } while Inode(cache) == identity
  }

  /// The cache and the server after the last copy.
  private struct Arrived {
    /// Number of the cache's contents.
    var seen: Int64
    /// The file of the cache.
    var identity: Inode?
    var position: ReplicaPosition
  }

  /// A standby that was promoted may lack the last transactions of the former primary, and so may a restored backup.
  private func noticeStepBack(from last: ReplicaPosition, to now: ReplicaPosition?, _ reader: CacheReader) throws {
    if let now, try !now.lacks(last, newest: reader.export(\.position)) { return }
    log.warning(
      """
      the server has lost snapshot \(last.snapshot), as after the promotion of a standby or a restored backup: \
      its readers see \(now.map { "snapshot \($0.snapshot)" } ?? "nothing") until the copy is complete
      """)
  }

  /// Returns when the cache has other contents, another file has its name, or the server has another position.
  /// - Throws: `Failure` if the server is gone: the next one may have an older snapshot.
  private func wait(
    _ reader: CacheReader, since arrived: Arrived, watch: CacheWatch, connection: PostgresConnection, replica: Replica,
    show: () -> Void
  ) throws {
    var looked = ContinuousClock.now
    while true {
      show()
      _ = try watch.wait(milliseconds: 1_000, other: connection.descriptor)
      try connection.check()
      if Inode(cache) != arrived.identity { return }
      if try reader.dataVersion() != arrived.seen { return }
      guard ContinuousClock.now - looked >= Self.lookEvery else { continue }
      looked = .now
      if try replica.state()?.position != arrived.position { return }
    }
  }

  /// A restored backup shows by the position alone.
  private static let lookEvery = Duration.seconds(10)
}

/// Reports to the watchdog at most once a second.
private final class Heartbeat {
  private let notify: Notify
  private var last = ContinuousClock.now

  init(_ notify: Notify) { self.notify = notify }

  func beat() {
    guard ContinuousClock.now - last >= .seconds(1) else { return }
    last = .now
    notify.watchdog()
  }
}
