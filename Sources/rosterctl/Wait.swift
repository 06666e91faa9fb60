import ArgumentParser
import RosterCore
import RosterStatusClient

struct Wait: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Waits for a snapshot, and for the daemon too.")

  /// Interval between two attempts to reach a daemon, whose start has no event.
  private static let interval = Duration.milliseconds(200)

  /// However little time there is, it is asked once, and has this long to answer.
  private static let patience = Duration.seconds(2)

  @OptionGroup var place: Places
  @Option(help: "The snapshot must not be older: 500ms, 15m, 2h.") var maxAge: String?
  @Option(help: "Give up after this time, and exit with 1.") var timeout: String?

  func validate() throws {
    for (name, text) in [("--max-age", maxAge), ("--timeout", timeout)] {
      if let text, Duration(text: text) == nil {
        throw ValidationError("\(name) is \(text); it must be a duration such as 500ms, 15m or 2h")
      }
    }
  }

  func run() async throws {
    let path = try await place.socketPath()
    let client = StatusClient(socket: path)
    let target = "/readyz" + (maxAge.map { "?max_age=\($0)" } ?? "")
    let limit = timeout.flatMap { Duration(text: $0) }
    let end = limit.map { ContinuousClock.now + $0 }
    let first = try await isReadyNow(client, target: target)
    if first == .ready { return }
    if limit == .zero { throw Self.gaveUp(first == .noDaemon ? "no daemon answers on \(path)" : "none came within 0s") }
    tell(first, path: path)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await Self.wait(client, target: target) }
      if let limit, let end {
        group.addTask {
          try await Task.sleep(until: end)
          throw Self.gaveUp("none came within \(limit.text)")
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private static func gaveUp(_ cause: String) -> Failure {
    Failure(.cancelled, step: "wait for a snapshot", subject: "the daemon", cause: cause)
  }

  private enum Readiness { case ready, noSnapshot, noDaemon }

  private func isReadyNow(_ client: StatusClient, target: String) async throws -> Readiness {
    do {
      return try await client.send("GET", target: target, within: Self.patience).isReady ? .ready : .noSnapshot
    } catch let failure as Failure where failure.kind == .noDaemon {
      return .noDaemon
    }
  }

  /// Once, since a wait without a word looks like a program that hangs.
  private func tell(_ first: Readiness, path: String) {
    let snapshot = "a snapshot" + (maxAge.map { " not older than \($0)" } ?? "")
    let daemon = first == .noDaemon ? "a daemon to answer on \(path), then for " : ""
    let end = timeout.map { "; gives up after \($0)" } ?? ""
    Output.error.tell("waiting for \(daemon)\(snapshot)\(end)")
  }

  private static func wait(_ client: StatusClient, target: String) async throws {
    while true {
      do {
        if try await isReady(client, target: target) { return }
        try await client.follow(
          opened: { try await !isReady(client, target: target) },
          each: { event in event.name != "sync.published" && event.name != "sync.unchanged" })
      } catch let failure as Failure where failure.kind == .noDaemon {
        try await Task.sleep(for: interval)
      }
    }
  }

  private static func isReady(_ client: StatusClient, target: String) async throws -> Bool {
    try await client.send("GET", target: target).isReady
  }
}

extension Response {
  /// Any server may answer 200.
  fileprivate var isReady: Bool { status == 200 && body == Array("ok\n".utf8) }
}
