import Glibc

struct Unavailable: Error { var code: CInt }

/// An address on 127.0.0.1; port 0 for any free one.
func loopback(_ port: Int) -> sockaddr_in {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
  address.sin_port = UInt16(port).bigEndian
  return address
}

/// A listening socket with its port.
func listeningSocket() throws -> (socket: CInt, port: Int) {
  let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var address = loopback(0)
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let bound = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      Glibc.bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
    }
  }
  guard bound else { throw Unavailable(code: errno) }
  return (listener, Int(UInt16(bigEndian: address.sin_port)))
}
