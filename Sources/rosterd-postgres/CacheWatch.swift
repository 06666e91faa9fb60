import Glibc
import RosterPostgres

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
