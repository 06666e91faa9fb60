import Dispatch

/// Runs an actor on a separate thread: SQLite blocks its thread, which is not allowed in Swift's shared pool.
final class SerialQueue: SerialExecutor {
  private let queue: DispatchQueue

  init(label: String) { queue = DispatchQueue(label: label) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
