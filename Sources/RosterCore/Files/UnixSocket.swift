package import Glibc

/// Addresses of Unix sockets in the file system (unix(7)).
package enum UnixSocket {
  /// The type for socket(2) of a stream that does not block and that child processes do not inherit.
  package static let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)

  /// Maximum number of bytes in a path: sun_path without its final NUL.
  package static let maxPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Calls `body` with the address of a socket; nil if the path is too long.
  package static func withAddress<Result>(
    of path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result? {
    guard path.utf8.count <= maxPath else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
    }
  }

  /// The path that a socket is bound to; nil if it has none.
  package static func path(of descriptor: Int32) -> String? {
    var address = sockaddr_un()
    var size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let answer = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    guard answer == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
    let path = withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return path.isEmpty ? nil : path
  }
}

/// A socket that listens on 127.0.0.1. Child processes do not inherit it.
package struct LoopbackListener: Sendable {
  /// The listening socket.
  package let descriptor: CInt
  /// The port that it has.
  package let port: UInt16

  /// - Parameters:
  ///   - port: 0 for a free one. A port that an ended process has left can be used again.
  ///   - isBlocking: false if accept(2) must not wait.
  package init(port: UInt16 = 0, isBlocking: Bool) throws(SystemError) {
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (isBlocking ? 0 : SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_INET, CInt(type), 0)
    var yes: CInt = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout.size(ofValue: yes)))
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = port.bigEndian
    place.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, SOMAXCONN) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isOpen else { throw .last }
    self.descriptor = descriptor
    self.port = UInt16(bigEndian: place.sin_port)
  }
}
