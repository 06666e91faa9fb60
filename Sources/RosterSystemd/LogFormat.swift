import Glibc
internal import RosterModel

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
