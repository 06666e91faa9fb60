import NIOCore

/// Runs tasks on the transport's own event loop. What a pull does between two network events is short, and a page that changes threads
/// for it costs two wake-ups.
final class LoopExecutor: TaskExecutor {
  private let loop: any EventLoop

  init(_ loop: any EventLoop) {
    self.loop = loop
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
