import Glibc
internal import Logging
internal import RosterCore
import Synchronization

/// Writes to the journal by its native protocol (systemd.journal-fields(7), systemd.io/JOURNAL_NATIVE_PROTOCOL) and
/// never blocks. sd_journal_sendv(3) would block while journald does not read.
final class Journal: Sendable {
  static let path = "/run/systemd/journal/socket"

  private let descriptor: CInt
  private let path: String
  /// Number of records dropped since the last one that was written.
  private let lost = Mutex(0)

  /// The path is resolved for each record, since journald may be restarted.
  init(path: String = path) {
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    // The size that libsystemd requests; the kernel limits it to net.core.wmem_max.
    var room: CInt = 8 << 20
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<CInt>.size))
    self.path = path
  }

  deinit { close(descriptor) }

  /// Drops a record if the socket has no room. The next written record is preceded by the number of dropped ones.
  func write(_ record: LogRecord) {
    lost.withLock { lost in
      if lost > 0, send(.lost(lost)) { lost = 0 }
      if lost > 0 || !send(record) { lost += 1 }
    }
  }

  private func send(_ record: LogRecord) -> Bool {
    let bytes = Self.datagram(record)
    let sent = UnixSocket.withAddress(of: path) {
      sendto(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL), $0, $1)
    }
    return sent == bytes.count
  }

  /// Each field is on a line of its own, and no value has a line break. A field that is too long is cut at its end.
  private static func datagram(_ record: LogRecord) -> [UInt8] {
    fields(record).flatMap {
      Array(String(decoding: $0.utf8.prefix(maxField), as: UTF8.self).utf8) + [UInt8(ascii: "\n")]
    }
  }

  /// In bytes: a datagram has room for a dozen such fields (212,992 bytes by default, net.core.wmem_default).
  private static let maxField = 16 * 1024
}

extension Journal {
  /// True if the descriptor is a stream of the journal: JOURNAL_STREAM is its device and inode (systemd.exec(5)).
  static func isStream(_ descriptor: CInt, journalStream: String?) -> Bool {
    guard let journalStream, let file = Inode(descriptor: descriptor) else { return false }
    return journalStream == "\(file.device):\(file.number)"
  }

  static var isRunning: Bool { access(path, W_OK) == 0 }

  /// The fields as `NAME=value`, the message first. All characters are printable, since journalctl(1) shows other
  /// values as `[… blob data]`, or unescaped with an option.
  static func fields(_ record: LogRecord) -> [String] {
    ["MESSAGE=\(record.message.escaped)", "PRIORITY=\(priority(record.level))", "SYSLOG_IDENTIFIER=rosterd"]
      + record.metadata.map { "\(fieldName($0.key))=\("\($0.value)".escaped)" }
  }

  /// Capitals, digits and `_`, beginning with a letter. docs/MONITORING.md names the fields that the daemon logs.
  static func fieldName(_ key: String) -> String {
    if let name = names[key] { return name }
    let letters = key.unicodeScalars.map { isLetterOrDigit($0) ? String($0).uppercased() : "_" }.joined()
    let trimmed = String(letters.drop { !$0.isLetter }.prefix(maxName))
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
  /// The journal allows 64 characters; `METADATA_` may be added in front.
  private static let maxName = 55
}
