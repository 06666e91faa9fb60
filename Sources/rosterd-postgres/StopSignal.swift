import Dispatch
import Glibc

/// SIGTERM and SIGINT as a descriptor that becomes readable, so that every wait can end by them.
final class StopSignal {
  /// Readable after a signal.
  let descriptor: Int32
  private let sources: [any DispatchSourceSignal]

  init() {
    var ends: [Int32] = [-1, -1]
    pipe(&ends)
    let writing = ends[1]
    descriptor = ends[0]
    sources = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        var byte: UInt8 = 1
        write(writing, &byte, 1)
      }
      source.resume()
      return source
    }
  }

  /// True if the signal came within that time.
  func came(within milliseconds: Int32) -> Bool {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, milliseconds) > 0
  }
}
