import Glibc
import Testing

/// The kernel's events for the names in a folder (inotify(7)).
struct FolderWatch: ~Copyable {
  private let descriptor: CInt

  init(_ folder: String, for events: CInt) throws {
    descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
    try #require(inotify_add_watch(descriptor, folder, UInt32(events)) >= 0)
  }

  deinit { close(descriptor) }

  /// Names with an event since the last call.
  func names() -> [String] {
    var names: [String] = []
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = read(descriptor, &bytes, bytes.count), count > 0 {
      var rest = bytes.prefix(count)
      while rest.count >= MemoryLayout<inotify_event>.size {
        // A name of `len` bytes follows, filled up with zeros.
        let length = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self).len }
        rest = rest.dropFirst(MemoryLayout<inotify_event>.size)
        names.append(String(decoding: rest.prefix(Int(length)).prefix { $0 != 0 }, as: UTF8.self))
        rest = rest.dropFirst(Int(length))
      }
    }
    return names
  }
}
