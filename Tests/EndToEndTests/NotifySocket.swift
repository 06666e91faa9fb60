import Dispatch
import Glibc
import Synchronization
import Testing

/// The service manager's end of NOTIFY_SOCKET (sd_notify(3)).
final class NotifySocket: Sendable {
  /// Every datagram, until `close`.
  let messages: AsyncStream<String>
  private let descriptor: CInt
  private let open = Open()

  /// After a close, the number may belong to another file.
  private final class Open: Sendable {
    let isOpen = Mutex(true)
  }

  init(path: String) throws {
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | O_CLOEXEC, 0)  // SOCK_CLOEXEC has that value
    self.descriptor = descriptor
    let (messages, came) = AsyncStream<String>.makeStream()
    self.messages = messages
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0, "bind \(path): errno \(errno)")
    DispatchQueue(label: "notify").async { [open] in
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
        came.yield(String(decoding: buffer.prefix(count), as: UTF8.self))
      }
      came.finish()
      open.isOpen.withLock { isOpen in
        isOpen = false
        Glibc.close(descriptor)
      }
    }
  }

  /// Wakes the reader, which closes the socket after it has read all datagrams.
  func close() {
    open.isOpen.withLock { isOpen in
      if isOpen { shutdown(descriptor, CInt(SHUT_RDWR)) }
    }
  }

  /// Returns the next matching datagram; nil if the sender has ended without one.
  func first(_ holds: (String) -> Bool) async -> String? {
    for await message in messages where holds(message) { return message }
    return nil
  }
}
