import Glibc

/// Notices a publication at once, by the rename that follows it, and anything else that is written within a second.
final class CacheWatch {
  private let descriptor: Int32
  private let stop: StopSignal

  /// - Parameter cache: Path of the database; `<path>.published` is in the same folder.
  init(cache: String, stop: StopSignal) {
    self.stop = stop
    descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    let folder = cache.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    if descriptor >= 0 {
      inotify_add_watch(descriptor, folder.isEmpty ? (cache.hasPrefix("/") ? "/" : ".") : folder, UInt32(IN_MOVED_TO))
    }
  }

  deinit { close(descriptor) }

  /// Returns after that time, or earlier: after a file was put in place in the cache's folder, or if the other
  /// descriptor is readable.
  /// - Returns: False if the program is to end.
  func wait(milliseconds: Int32, other: Int32) -> Bool {
    var waits = [descriptor, stop.descriptor, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    _ = poll(&waits, nfds_t(waits.count), milliseconds)
    var bytes = [UInt8](repeating: 0, count: 4096)
    while read(descriptor, &bytes, bytes.count) > 0 {}
    return waits[1].revents == 0
  }
}
