import FoundationEssentials
import Logging
import RosterConfiguration
import RosterDaemon
import RosterModel
import RosterSimulator
import RosterStatusClient
import RosterTerminal

/// A complete run on one machine, with the embedded upstream, a daemon and one sync; afterwards it contains the
/// results.
struct Demo: Sendable {
  private(set) var status: DaemonStatus
  /// Each event with the seconds since the first one.
  private(set) var events: [(Double, Event)]
  private(set) var cachePath: String
  private(set) var socket: String
  /// Number of token requests that the upstream granted, counted by the upstream.
  private(set) var refreshes: Int

  /// - Parameter isShown: true to show the progress on stderr.
  static func run(isShown: Bool) async throws -> Demo {
    let upstream = try await Simulator.start(.demo)
    let folder = try DemoFolder.make(credentials: upstream.credentials.files)
    do {
      let (events, status) = try await sync(folder.configuration(of: upstream), socket: folder.socket, isShown: isShown)
      let refreshes = upstream.counts.tokensGranted
      await upstream.stop()
      return Demo(
        status: status, events: events, cachePath: folder.cache, socket: folder.socket, refreshes: refreshes)
    } catch {
      await upstream.stop()
      throw error
    }
  }

  /// Serves the embedded upstream until the program is killed; prints its base_url.
  static func serve(port: UInt16) async throws {
    let upstream = try await Simulator.start(.served, port: port)
    try answer("\(upstream.baseURL)\n")
    while true { try await Task.sleep(for: .seconds(3600)) }
  }

  /// Runs the daemon until its first sync has ended, and requests its status as rosterctl does.
  private static func sync(
    _ configuration: Configuration, socket: String, isShown: Bool
  ) async throws -> ([(Double, Event)], DaemonStatus) {
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (stream, happened) = AsyncStream<Event>.makeStream()
      group.addTask {
        defer { happened.finish() }
        let quiet = Logger(label: "demo") { _ in SwiftLogNoOpLogHandler() }
        try await Daemon.run(configuration, logger: quiet, watching: { happened.yield($0) })
      }
      let events = await watch(stream, isShown: isShown)
      guard let report = events.last?.1.report, report.outcome != .cancelled else {
        // If the daemon could not start, the demo fails with the daemon's failure.
        try await group.next()
        throw Failure(.cancelled, step: "run the demo", subject: socket, cause: "the daemon was asked to stop")
      }
      let answer = try await StatusClient(socket: socket).send("GET", target: "/v1/status")
      let status = try JSONDecoder().decode(DaemonStatus.self, from: Data(answer.body))
      group.cancelAll()
      return (events, status)
    }
  }

  /// Returns with the event that ends the sync.
  private static func watch(_ stream: AsyncStream<Event>, isShown: Bool) async -> [(Double, Event)] {
    let start = ContinuousClock.now
    var events: [(Double, Event)] = []
    var pages: [String: Int] = [:]
    for await event in stream {
      events.append(((ContinuousClock.now - start).seconds, event))
      if let resource = event.resource, let done = event.pagesDone {
        pages[resource, default: 0] += 1
        let counts = pages.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        if isShown { LiveBar().draw(ProgressBar(done: done, total: event.pagesTotal ?? 0, counts: counts)) }
      }
      if event.report != nil { break }
    }
    return events
  }
}
