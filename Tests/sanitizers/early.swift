// Shows the Thread Sanitizer's reports about a continuation that is resumed long after it is awaited. With an argument,
// the continuation is resumed before; then the reported race does not exist.
import Glibc
import Synchronization

final class Box: @unchecked Sendable {
  var value = 1
}

final class Hand: Sendable {
  let continuation: UnsafeContinuation<Box, Never>
  /// Relaxed, so that it adds no ordering.
  let isResumed = Atomic(false)

  init(_ continuation: UnsafeContinuation<Box, Never>) { self.continuation = continuation }
}

let isEarly = CommandLine.argc > 1

func resumeBeside(_ hand: Hand) {
  var thread = pthread_t()
  pthread_create(
    &thread, nil,
    { argument in
      let hand = Unmanaged<Hand>.fromOpaque(argument!).takeRetainedValue()
      if !isEarly { usleep(50_000) }
      hand.continuation.resume(returning: Box())
      hand.isResumed.store(true, ordering: .relaxed)
      return nil
    }, Unmanaged.passRetained(hand).toOpaque())
  pthread_detach(thread)
}

await Task.detached {
  let box = await withUnsafeContinuation { continuation in
    let hand = Hand(continuation)
    resumeBeside(hand)
    while isEarly && !hand.isResumed.load(ordering: .relaxed) { sched_yield() }
  }
  box.value += 1
}.value
