import Glibc

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
