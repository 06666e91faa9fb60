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

  /// The next datagram; nil if no datagram was sent. Local datagrams arrive before send returns.
  func receive() -> String? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
    return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
  }
}

func withUnixAddress(_ path: String, use: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
  }
}
