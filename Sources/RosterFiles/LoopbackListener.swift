import Glibc

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
