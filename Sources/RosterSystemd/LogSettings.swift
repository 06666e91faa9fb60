internal import FoundationEssentials
import Glibc
package import Logging
package import RosterModel
import Synchronization

/// `log.level` and `log.format`, shared by all copies of a logger so that a reload changes them for all.
package final class LogSettings: Sendable {
  private struct State {
    var level: Logger.Level
    var format: LogFormat
    var write: @Sendable (LogRecord) -> Void
  }

  private let state: Mutex<State>

  /// Resolves `.auto` here, and again when `format` is set.
  package init(level: Logger.Level, format: LogFormat = .auto) {
    state = Mutex(State(level: level, format: format, write: Self.writer(format)))
  }

  /// The lowest level that is logged.
  package var level: Logger.Level {
    get { state.withLock { $0.level } }
    set { state.withLock { $0.level = newValue } }
  }

  /// The format of the log, which applies from the next line on.
  package var format: LogFormat {
    get { state.withLock { $0.format } }
    set {
      state.withLock { state in
        guard newValue != state.format else { return }
        state.format = newValue
        state.write = Self.writer(newValue)
      }
    }
  }

  fileprivate func write(_ record: LogRecord) {
    let write = state.withLock { $0.write }
    write(record)
  }

  private static func writer(_ format: LogFormat) -> @Sendable (LogRecord) -> Void {
    let journalStream = ProcessInfo.processInfo.environment["JOURNAL_STREAM"]
    switch format.resolved(journalStream: journalStream, journalRuns: Journal.isRunning) {
    case .journald: return Journal().write
    case .json: return LineWriter(STDERR_FILENO) { $0.json }.write
    case .text, .auto: return LineWriter(STDERR_FILENO) { $0.text }.write
    }
  }
}

/// The daemon's log: records with fields to the journal, or lines on stderr (S5). Lines that stderr does not accept in
/// time are dropped and counted.
package func rosterLog(_ settings: LogSettings) -> Logger {
  Logger(label: "rosterd") { _ in RecordHandler(settings, write: settings.write) }
}

/// Turns swift-log's events into records.
struct RecordHandler: LogHandler {
  let settings: LogSettings
  let write: @Sendable (LogRecord) -> Void
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  private var own: Logger.Level?

  init(_ settings: LogSettings, write: @escaping @Sendable (LogRecord) -> Void) {
    self.settings = settings
    self.write = write
  }

  /// A logger that sets its own level keeps it.
  var logLevel: Logger.Level {
    get { own ?? settings.level }
    set { own = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    var all = metadata
    if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
    if let metadata = event.metadata { all.merge(metadata) { $1 } }
    if let error = event.error { all["error"] = "\(error)" }
    let sorted = all.sorted { $0.key < $1.key }.map { (key: $0.key, value: $0.value) }
    write(LogRecord(at: Date(), level: event.level, message: "\(event.message)", metadata: sorted))
  }
}
