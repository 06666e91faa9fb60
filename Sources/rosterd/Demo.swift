import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import RosterCore
import RosterDaemon
import RosterDefinition
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

struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Shows the whole main job on this machine alone.")

  @Flag(help: "Print a summary as JSON and nothing else.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Serve the demo's upstream on this port of 127.0.0.1 until Ctrl-C, and do nothing else. 0: a free port.",
      valueName: "port"))
  var serve: UInt16?

  func validate() throws {
    guard !json || serve == nil else { throw ValidationError("--serve has no summary: leave --json out") }
  }

  func run() async throws {
    if let serve { return try await exiting { try await Demo.serve(port: serve) } }
    try await exiting {
      let demo = try await Demo.run(isShown: !json)
      if json { try answer(asJSON: demo.summary) } else { try answer(demo.story(terminal)) }
    }
  }

  private var terminal: Terminal { .of(STDOUT_FILENO, environment: ProcessInfo.processInfo.environment) }
}

/// A new folder for a demo's files. It is not removed, so that the cache can be examined.
struct DemoFolder: Sendable {
  let path: String

  var cache: String { "\(path)/roster.db" }
  var socket: String { "\(path)/status.sock" }

  static func make(credentials: [String: String]) throws -> DemoFolder {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var template = Array("\(parent)/rosterd-demo-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw Failure(
        .cannotWrite, step: "make a folder", subject: parent, cause: SystemError.last.text,
        hint: "name another one in TMPDIR")
    }
    let folder = DemoFolder(path: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    try folder.write(credentials)
    return folder
  }

  /// The configuration as a user would write it in the environment, with the definitions of
  /// `config/sources/rickandmorty.toml` and a list of characters for each episode.
  func configuration(of upstream: Simulator) throws -> Configuration {
    var configuration = try Configuration.load(
      file: nil,
      environment: [
        "ROSTERD_UPSTREAM_BASE_URL": upstream.baseURL, "ROSTERD_AUTH_FLOW": "authenticate_form",
        "ROSTERD_AUTH_TOKEN_URL": upstream.tokenURL, "ROSTERD_AUTH_CREDENTIALS_DIR": path,
        "ROSTERD_AUTH_TOKEN_STORE": "\(path)/token.json", "ROSTERD_CACHE_PATH": cache,
        "ROSTERD_STATUS_SOCKET": socket,
      ], isRoot: false
    ).configuration
    configuration.resources = [.character, .location, .episode, .appearance]
    return configuration
  }

  private func write(_ credentials: [String: String]) throws {
    for (name, secret) in credentials {
      try Data(secret.utf8).write(to: URL(filePath: "\(path)/\(name)"))
      chmod("\(path)/\(name)", 0o600)
    }
  }
}

extension Resource {
  /// The characters that speak in each episode. Only the embedded upstream has such lists.
  fileprivate static let appearance = Resource(
    name: "appearance", path: "/episode/{episode.id}/character", table: "appearances", pages: Pages(.one),
    columns: [
      Column("id", at: JSONPointer(segments: ["id"]), .integer), Column("name", at: JSONPointer(segments: ["name"])),
      Column("lines", at: JSONPointer(segments: ["lines"]), .integer),
    ], each: Each(of: "episode"))
}

extension Demo {
  var summary: some Encodable { Summary(self) }

  func story(_ terminal: Terminal) -> String {
    [
      "\nThe token's story\n", Timeline(events, parents: ["appearance": "episode"]).text(colour: terminal.colour),
      "\nrefreshes: \(refreshes)\n",
      "\nThe daemon's status, as `rosterctl status` shows it\n",
      StatusText(status, width: terminal.columns, colour: terminal.colour).text,
      "\nThe cache stays for a look: \(cachePath)\n\n", queries,
    ].joined()
  }

  private var queries: String {
    [
      "SELECT name, records, pages, proof FROM resources",
      "SELECT name, species, location_name FROM characters ORDER BY id LIMIT 5",
      """
      SELECT e.episode, e.name AS title, a.name, a.lines FROM episodes e JOIN appearances a ON a.episode_id = e.id \
      ORDER BY a.lines DESC, e.id LIMIT 5
      """,
      "SELECT outcome, pages, records, requests, refreshes FROM syncs",
    ].map { "  sqlite3 -readonly -box \(cachePath) \"\($0)\"\n" }.joined()
  }

  private struct Summary: Encodable {
    var cache: String
    var refreshes: Int
    var sync: SyncRecord?
    var status: DaemonStatus

    init(_ demo: Demo) {
      cache = demo.cachePath
      refreshes = demo.refreshes
      sync = demo.status.sync.last
      status = demo.status
    }
  }
}
