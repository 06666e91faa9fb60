import Glibc

/// A port on loopback whose listener accepts no more connections, so that a client waits (listen(2)).
package final class FullBacklog: Sendable {
  /// The port of the listener.
  package let port: Int
  private let descriptors: [CInt]

  /// Throws if no port is available.
  package init() throws {
    let (listener, port) = try listeningSocket(backlog: 0)
    self.port = port
    // A backlog of 0 has room for one connection; the second and all later ones wait.
    descriptors = [listener] + (1...2).map { _ in connectingSocket(to: port, isBlocking: false).socket }
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
  }

  /// True if a further client tries to connect, besides the two of `init`. Then a second socket has sent SYN
  /// (proc_net_tcp of the kernel).
  package var isAsked: Bool {
    let hex = String(port, radix: 16, uppercase: true)
    let remote = "0100007F:" + String(repeating: "0", count: 4 - hex.count) + hex
    return Self.sockets.split(separator: "\n").count { line in
      let fields = line.split(separator: " ")
      return fields.count > 3 && fields[2] == remote && fields[3] == "02"
    } >= 2
  }

  /// The size of this file is not known in advance.
  private static var sockets: String {
    let file = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while case let count = read(file, &chunk, chunk.count), count > 0 { bytes += chunk.prefix(count) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
