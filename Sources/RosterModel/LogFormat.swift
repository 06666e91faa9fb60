/// `log.format`: how the log is written.
package enum LogFormat: String, Sendable, CaseIterable {
  /// `journald` where stderr is the journal, else `text`.
  case auto
  case journald, text, json
}
