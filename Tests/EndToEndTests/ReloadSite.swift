import FoundationEssentials
import Glibc
import RosterStatusClient
import Testing

/// RELOADING=1 with the time of the monotonic clock, then READY=1.
func reloaded(_ notify: NotifySocket, meanwhile: () -> Void = {}) async throws {
  let reloading = try #require(await notify.first { $0.contains("RELOADING=1") })
  let field = reloading.split(separator: "\n").first { $0.hasPrefix("MONOTONIC_USEC=") }
  let sent = try #require(field.flatMap { Int64($0.dropFirst("MONOTONIC_USEC=".count)) })
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  let now = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  #expect(sent > 0 && sent <= now && now - sent < 30_000_000)
  meanwhile()
  #expect(await notify.first { $0.contains("READY=1") } != nil)
}

func reload(_ daemon: Program, notify: NotifySocket) async throws {
  daemon.signal(SIGHUP)
  try await reloaded(notify)
}

extension Site {
  private var file: String { "\(folder)/rosterd.toml" }

  func removeFile() throws { try FileManager.default.removeItem(atPath: file) }

  private func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: file)) }

  /// Runs the daemon with a configuration file. The environment takes precedence, so it contains only keys that are not
  /// in the file.
  func withFile(
    _ text: String, body: (Program, NotifySocket) async throws -> Void
  ) async throws {
    try write(text)
    var site = self
    for name in ["SYNC_INTERVAL", "AUTH_FLOW", "AUTH_TOKEN_URL", "LOG_FORMAT"] {
      site.settings["ROSTERD_\(name)"] = nil
    }
    try await site.withDaemon(["run", "--config", file], body: body)
  }

  /// The stored events, up to the first one with this name.
  func events(through name: String) async throws -> [StreamedEvent] {
    var events: [StreamedEvent] = []
    try await StatusClient(socket: socket).follow(after: "0") { event in
      events.append(event)
      return event.name != name
    }
    return events
  }

  func reload(
    _ text: String, daemon: Program, notify: NotifySocket, meanwhile: () -> Void = {}
  ) async throws {
    try write(text)
    daemon.signal(SIGHUP)
    try await reloaded(notify, meanwhile: meanwhile)
  }
}
