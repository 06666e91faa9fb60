// Loaded into rosterd with LD_PRELOAD: shifts the time of day by the number of seconds in the file ROSTER_CLOCK.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void) {
  char text[32] = "";
  const char *path = getenv("ROSTER_CLOCK");
  int file = path ? syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return 0;
  if (syscall(SYS_read, file, text, sizeof text - 1) < 0) text[0] = 0;
  syscall(SYS_close, file);
  return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = syscall(SYS_clock_gettime, clock, now);
  if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *now, void *zone) {
  int result = syscall(SYS_gettimeofday, now, zone);
  if (!result) now->tv_sec += offset();
  return result;
}

time_t time(time_t *told) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (told) *told = now.tv_sec;
  return now.tv_sec;
}
