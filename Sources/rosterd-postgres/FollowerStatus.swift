import FoundationEssentials
import Glibc
import RosterCore
import RosterPostgres

/// The output of `rosterd-postgres status`.
struct FollowerStatus: Encodable {
  /// Path of the cache.
  var cache: String
  /// The server without user and password.
  var server: String
  /// Schema with the copied tables.
  var schema: String
  /// Sync that published the snapshot in PostgreSQL; nil before the first copy.
  var snapshot: Int64?
  /// Largest `changes.id` in PostgreSQL; nil before the first copy.
  var change: Int64?
  /// Rows of `changes` that PostgreSQL lacks; nil if everything will be copied.
  var behind: Int64?
  /// Age of the oldest publication that it lacks, in seconds.
  var lag: Double
  /// Time of the last transaction, RFC 3339.
  var appliedAt: String?
  /// Values in which PostgreSQL refused a character.
  var replaced: Int
  /// Last error of a service that follows; nil if its last try succeeded or none runs.
  var lastError: String?

  init(_ state: Replica.State?, lag: Lag, cache: String, server: String, schema: String, last: FollowerFile?) {
    self.cache = cache
    self.server = server
    self.schema = schema
    snapshot = state?.position.snapshot
    change = state?.position.change
    behind = lag.changes
    self.lag = lag.seconds
    appliedAt = state?.appliedAt
    replaced = state?.replaced ?? 0
    lastError = last?.error
  }

  /// A line for each fact.
  var text: String {
    var lines = ["cache      \(cache)", "copied to  schema \(schema) of \(server)"]
    if let snapshot, let appliedAt {
      lines.append("position   snapshot \(snapshot), change \(change ?? 0), written at \(appliedAt)")
    } else {
      lines.append("position   nothing has been copied yet")
    }
    switch behind {
    case 0 where lag == 0: lines.append("lag        none")
    case let behind?: lines.append("lag        \(Int(behind).counted(as: "change")), \(Int(lag)) s")
    case nil: lines.append("lag        everything will be copied again")
    }
    if replaced > 0 {
      lines.append("replaced   \(replaced.counted(as: "value")) had characters that PostgreSQL refuses")
    }
    if let lastError { lines.append("last error \(lastError)") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// One object on a line.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return ((try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}") + "\n"
  }
}

/// Notices a publication at once, by the rename that follows it.
final class CacheWatch {
  /// The reason why a wait ended.
  enum Wake {
    /// `<cache>.published` was replaced.
    case publication
    /// The time is over, or something else was reported.
    case other
  }

  private let descriptor: Int32
  private let published: String
  private let stop: StopSignal

  /// - Parameter cache: Path of the database itself; `<path>.published` is in the same folder.
  init(cache: String, stop: StopSignal) {
    self.stop = stop
    var parts = cache.split(separator: "/", omittingEmptySubsequences: false)
    published = String(parts.popLast() ?? "") + ".published"
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    let folder = parts.joined(separator: "/")
    if descriptor >= 0 {
      inotify_add_watch(descriptor, folder.isEmpty ? (cache.hasPrefix("/") ? "/" : ".") : folder, UInt32(IN_MOVED_TO))
    }
  }

  deinit { close(descriptor) }

  /// Returns after that time, or earlier: after a file was put in place in the cache's folder, or if the other
  /// descriptor is readable.
  /// - Throws: `Stopped` if the program is to end.
  func wait(milliseconds: Int32, other: Int32 = -1) throws -> Wake {
    var waits = [descriptor, stop.descriptor, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    _ = poll(&waits, nfds_t(waits.count), milliseconds)
    if waits[1].revents != 0 { throw Stopped() }
    var isPublication = false
    var bytes = [UInt8](repeating: 0, count: 4096)
    while case let count = read(descriptor, &bytes, bytes.count), count > 0 {
      if names(in: bytes[..<count]).contains(published) { isPublication = true }
    }
    return isPublication ? .publication : .other
  }

  /// The names of the files in those events.
  private func names(in bytes: ArraySlice<UInt8>) -> [String] {
    let header = MemoryLayout<inotify_event>.size
    var (rest, names) = (bytes, [String]())
    while rest.count >= header {
      let event = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
      let name = rest.dropFirst(header).prefix(Int(event.len))
      names.append(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
      rest = rest.dropFirst(header + Int(event.len))
    }
    return names
  }
}
