internal import Logging
import NIOCore
import Synchronization

/// A warning about a condition that may last: logged the first time, then at most once a minute.
final class RareWarning: Sendable {
  private let logger: Logger
  private let last = Mutex<NIODeadline?>(nil)

  init(_ logger: Logger) {
    self.logger = logger
  }

  func tell(_ sentence: String) {
    let isDue = last.withLock { last in
      let now = NIODeadline.now()
      if let last, now - last < Self.distance { return false }
      last = now
      return true
    }
    if isDue { logger.warning("\(sentence)") }
  }

  private static let distance = TimeAmount.minutes(1)
}
