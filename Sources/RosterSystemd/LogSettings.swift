internal import FoundationEssentials
import Glibc
package import Logging
package import RosterCore
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

/// The daemon's log: records with fields to the journal, or lines on stderr. Lines that stderr does not accept in
/// time are dropped and counted.
package func rosterLog(_ settings: LogSettings) -> Logger {
  Logger(label: "rosterd") { _ in RecordHandler(settings: settings, write: settings.write) }
}

/// Turns swift-log's events into records.
struct RecordHandler: LogHandler {
  let settings: LogSettings
  let write: @Sendable (LogRecord) -> Void
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  var own: Logger.Level?

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

extension LogFormat {
  /// The format in use. Without a journal, the format `journald` would lose every line.
  func resolved(journalStream: String?, journalRuns: Bool) -> LogFormat {
    switch self {
    case .auto: Journal.isStream(STDERR_FILENO, journalStream: journalStream) ? .journald : .text
    case .journald: journalRuns ? .journald : .text
    case .text, .json: self
    }
  }
}

/// Writes the log as lines to a descriptor, and never waits long if its reader is slow or missing.
final class LineWriter: Sendable {
  private struct State {
    /// Number of lines dropped since the last one that was written.
    var lost = 0
    /// The unwritten rest of a line, which is written first so that no line is torn.
    var rest: ArraySlice<UInt8> = []
  }

  private let descriptor: CInt
  private let form: @Sendable (LogRecord) -> String
  private let state = Mutex(State())

  init(_ descriptor: CInt, form: @escaping @Sendable (LogRecord) -> String) {
    self.descriptor = descriptor
    self.form = form
  }

  /// Drops a line if there is no room in time. The next written line is preceded by the number of dropped ones.
  func write(_ record: LogRecord) {
    state.withLock { state in
      // After a timeout, later lines do not wait for the slow reader again.
      let isBehind = state.lost > 0 || !state.rest.isEmpty
      guard isWritable(within: isBehind ? 0 : Self.patience), put(&state.rest) else {
        state.lost += 1
        return
      }
      let lines = (state.lost == 0 ? [] : [LogRecord.lost(state.lost)]) + [record]
      state.lost = 0
      state.rest = Array(lines.map { form($0) + "\n" }.joined().utf8)[...]
      _ = put(&state.rest)
    }
  }

  private func isWritable(within milliseconds: CInt) -> Bool {
    var ask = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    var answer: CInt
    repeat { answer = poll(&ask, 1, milliseconds) } while answer < 0 && errno == EINTR
    return answer > 0 && ask.revents & Int16(POLLOUT) != 0
  }

  /// Returns true if everything was written. A usual line takes one write(2). A longer one is written in portions,
  /// because a writable pipe accepts only PIPE_BUF bytes without blocking (pipe(7)).
  private func put(_ rest: inout ArraySlice<UInt8>) -> Bool {
    while !rest.isEmpty {
      let written = rest.prefix(Self.pipeBuffer).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { return false }
      rest = rest.dropFirst(written)
      if !rest.isEmpty && !isWritable(within: Self.patience) { return false }
    }
    return true
  }

  /// Milliseconds. A reader that is merely slow gets every line, and a stuck reader causes this delay only once.
  private static let patience: CInt = 100
  /// PIPE_BUF of Linux.
  private static let pipeBuffer = 4096
}
