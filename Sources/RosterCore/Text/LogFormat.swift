/// `log.format`: the format of the log.
package enum LogFormat: String, Sendable, CaseIterable {
  /// `journald` if stderr is the journal, else `text`.
  case auto
  case journald, text, json
}
