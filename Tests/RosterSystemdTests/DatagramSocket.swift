import Glibc
import Testing

/// A bound Unix datagram socket, as the service manager and the journal have one.
struct DatagramSocket {
  private let descriptor: CInt

  init(path: String) throws {
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    let bound = withUnixAddress(path) { bind(descriptor, $0, $1) }
    try #require(bound == 0, "bind \(path): errno \(errno)")
  }

  /// Sends datagrams until the socket at `path` has no room for another one.
  static func fill(path: String) {
    let sender = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    defer { close(sender) }
    while withUnixAddress(path, use: { sendto(sender, filler, filler.utf8.count, CInt(MSG_DONTWAIT), $0, $1) }) > 0 {}
  }

  /// A datagram of `fill`.
  static let filler = "filler"

  /// The next datagram; nil if no datagram was sent. Local datagrams arrive before send returns.
  func receive() -> String? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
    return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}

func withUnixAddress<Result>(_ path: String, use: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
  // Each byte of an abstract name counts, and it begins with NUL (unix(7)).
  let size = path.utf8.first == 0 ? MemoryLayout<sa_family_t>.size + path.utf8.count : MemoryLayout<sockaddr_un>.size
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use($0, socklen_t(size)) }
  }
}
