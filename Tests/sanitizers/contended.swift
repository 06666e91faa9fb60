// Shows the Thread Sanitizer's reports about a Mutex with waiting threads, and, with an argument, about a number
// without one.
import Glibc
import Synchronization

final class Counts: Sendable {
  let locked = Mutex([0])
  nonisolated(unsafe) var bare = 0
}

let counts = Counts()
var threads = [pthread_t](repeating: 0, count: 4)
for index in threads.indices {
  pthread_create(
    &threads[index], nil,
    { _ in
      let races = CommandLine.argc > 1
      for _ in 0..<100_000 {
        counts.locked.withLock { $0[0] += 1 }
        if races { counts.bare += 1 }
      }
      return nil
    }, nil)
}
for thread in threads { pthread_join(thread, nil) }
