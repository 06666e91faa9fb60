// Informs the Thread Sanitizer about Swift's Mutex under contention. The Mutex is in the standard library, which is not
// instrumented, and hands over in the kernel (futex(2), FUTEX_LOCK_PI). Without this, each lock that two threads wait
// for is reported as a race. It is linked into every program of `make tsan`.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

void __tsan_acquire(void *);
void __tsan_release(void *);

SWIFT void lock_slowly(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool try_slowly(SELF) __asm__(TRY);
SWIFT void unlock_slowly(SELF) __asm__(UNLOCK);

SWIFT void lock_slowly(uint32_t thread, SELF) {
  SWIFT void (*real)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK);
  real(thread, self);
  __tsan_acquire(self);
}

SWIFT bool try_slowly(SELF) {
  SWIFT bool (*real)(SELF) = dlsym(RTLD_NEXT, TRY);
  bool is_taken = real(self);
  if (is_taken) __tsan_acquire(self);
  return is_taken;
}

SWIFT void unlock_slowly(SELF) {
  SWIFT void (*real)(SELF) = dlsym(RTLD_NEXT, UNLOCK);
  __tsan_release(self);
  real(self);
}
