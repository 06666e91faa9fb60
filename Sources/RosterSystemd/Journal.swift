internal import CSystemd
import Glibc
internal import Logging

/// The journal's native protocol (systemd.journal-fields(7)).
enum Journal {
  /// Whether stderr is a stream of the journal: JOURNAL_STREAM is its device and inode (systemd.exec(5)).
  static func isStream(_ descriptor: CInt, journalStream: String?) -> Bool {
    var file = stat()
    guard let journalStream, fstat(descriptor, &file) == 0 else { return false }
    return journalStream == "\(file.st_dev):\(file.st_ino)"
  }

  static var isRunning: Bool { access("/run/systemd/journal/socket", W_OK) == 0 }

  /// `NAME=value`, the message first.
  static func fields(_ record: LogRecord) -> [String] {
    ["MESSAGE=\(record.message)", "PRIORITY=\(priority(record.level))", "SYSLOG_IDENTIFIER=rosterd"]
      + record.metadata.map { "\(fieldName($0.key))=\($0.value)" }
  }

  /// A journal that does not take it is not waited for, and nobody could be told.
  static func send(_ fields: [String]) {
    var bytes = fields.flatMap { Array($0.utf8) }
    bytes.withUnsafeMutableBytes { buffer in
      var start = 0
      let vectors = fields.map { field in
        defer { start += field.utf8.count }
        return iovec(iov_base: buffer.baseAddress.map { $0 + start }, iov_len: field.utf8.count)
      }
      _ = sd_journal_sendv(vectors, CInt(vectors.count))
    }
  }

  /// Capitals, digits and `_`, a letter first; the contract's names for what the daemon logs (S5).
  static func fieldName(_ key: String) -> String {
    if let name = names[key] { return name }
    let letters = key.unicodeScalars.map { isLetterOrDigit($0) ? String($0).uppercased() : "_" }.joined()
    let trimmed = String(letters.drop { !$0.isLetter }.prefix(longestName))
    return trimmed.isEmpty || own.contains(trimmed) ? "METADATA_\(trimmed)" : trimmed
  }

  private static func isLetterOrDigit(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
  }

  /// syslog(3)
  private static func priority(_ level: Logger.Level) -> CInt {
    switch level {
    case .trace, .debug: LOG_DEBUG
    case .info: LOG_INFO
    case .notice: LOG_NOTICE
    case .warning: LOG_WARNING
    case .error: LOG_ERR
    case .critical: LOG_CRIT
    }
  }

  private static let names = ["sync": "SYNC_ID", "page": "PAGE", "status": "STATUS_CODE", "attempt": "ATTEMPT"]
  private static let own: Set<String> = ["MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER"]
  /// The journal takes 64; `METADATA_` may stand before it.
  private static let longestName = 55
}
