import Dispatch
import Glibc

/// SIGTERM and SIGINT as a descriptor that becomes readable, so that every wait can end by them.
final class StopSignal {
  /// Readable after a signal.
  let descriptor: Int32
  private let sources: [any DispatchSourceSignal]

  /// Call `hold` first.
  init() {
    var ends: [Int32] = [-1, -1]
    pipe(&ends)
    let writing = ends[1]
    descriptor = ends[0]
    sources = Self.numbers.map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        var byte: UInt8 = 1
        write(writing, &byte, 1)
      }
      source.resume()
      return source
    }
  }

  /// Blocks the signals, so that an early one waits for the source that reads it. Dispatch installs a source some time
  /// after `resume`. Until then an ignored signal is lost, and a signal with its default action kills the program. Call
  /// this before any other thread exists, because threads inherit the mask.
  static func hold() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in numbers { sigaddset(&signals, number) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  private static let numbers = [SIGTERM, SIGINT]
}
