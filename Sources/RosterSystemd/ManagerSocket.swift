import Glibc
internal import RosterFiles

/// Sends datagrams to the service manager's socket, $NOTIFY_SOCKET. sd_notify(3) would block while the service manager
/// does not read.
final class ManagerSocket: Sendable {
  private let descriptor: CInt
  /// The address for `sun_path`; nil without NOTIFY_SOCKET. An abstract name begins with NUL (unix(7)).
  private let name: String?

  init() {
    let path = getenv("NOTIFY_SOCKET").map { String(cString: $0) } ?? ""
    switch path.first {
    case "/": name = path
    case "@": name = "\0" + path.dropFirst()
    default: name = nil
    }
    descriptor = name == nil ? -1 : socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var patience = timeval(tv_sec: 0, tv_usec: Self.patience)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Returns false if the socket has no room. Any other failure is ignored: the service manager has ended, or never
  /// listened.
  func send(_ text: String, mayWait: Bool) -> Bool {
    guard let name else { return true }
    let bytes = Array(text.utf8)
    let flags = CInt(MSG_NOSIGNAL) | (mayWait ? 0 : CInt(MSG_DONTWAIT))
    let sent = UnixSocket.withAddress(of: name) { address, size in
      // Each byte of an abstract name counts, and nothing follows it.
      let length = name.utf8.first == 0 ? socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count) : size
      return sendto(descriptor, bytes, bytes.count, flags, address, length)
    }
    return sent ?? 0 >= 0 || errno != EAGAIN && errno != EINTR
  }

  /// Microseconds. A service manager that is merely slow gets each state, and a stuck one causes this delay only once.
  private static let patience = 100_000
}
