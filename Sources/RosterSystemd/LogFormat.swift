internal import FoundationEssentials
import Glibc
package import Logging
import Synchronization

/// `log.format`.
package enum LogFormat: String, Sendable, CaseIterable {
  case auto, journald, text, json

  /// What is written in the end; without a journal its format would lose every line.
  func resolved(journalStream: String?, journalRuns: Bool) -> LogFormat {
    switch self {
    case .auto: Journal.isStream(STDERR_FILENO, journalStream: journalStream) ? .journald : .text
    case .journald: journalRuns ? .journald : .text
    case .text, .json: self
    }
  }
}

/// `log.level`, shared by all copies of a logger so that a reload changes it for all.
package final class LogLevel: Sendable {
  private let level: Mutex<Logger.Level>

  package init(_ level: Logger.Level) { self.level = Mutex(level) }

  package var current: Logger.Level {
    get { level.withLock { $0 } }
    set { level.withLock { $0 = newValue } }
  }
}

/// The daemon's log: to the journal with fields, else lines on stderr (S5). It never waits long for its reader; what cannot be written is dropped and counted.
package func rosterLog(format: LogFormat, level: LogLevel) -> Logger {
  let journalStream = ProcessInfo.processInfo.environment["JOURNAL_STREAM"]
  let write: @Sendable (LogRecord) -> Void
  switch format.resolved(journalStream: journalStream, journalRuns: Journal.isRunning) {
  case .journald:
    write = { Journal.send(Journal.fields($0)) }
  case .json:
    let stderr = LineWriter(STDERR_FILENO)
    write = { stderr.write($0.json) }
  case .text, .auto:
    let stderr = LineWriter(STDERR_FILENO)
    write = { stderr.write($0.text) }
  }
  return Logger(label: "rosterd") { _ in RecordHandler(level: level, write: write) }
}

/// Turns swift-log's events into records.
struct RecordHandler: LogHandler {
  let level: LogLevel
  let write: @Sendable (LogRecord) -> Void
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  private var own: Logger.Level?

  init(level: LogLevel, write: @escaping @Sendable (LogRecord) -> Void) {
    self.level = level
    self.write = write
  }

  /// A logger that sets its own level keeps it.
  var logLevel: Logger.Level {
    get { own ?? level.current }
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
