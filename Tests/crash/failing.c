// Loaded into rosterd with LD_PRELOAD: lets a single call fail.
//
// ROSTER_FAIL is "KIND NUMBER ERRNO": the call with this number among the calls of this kind, from 1, fails with that
// errno. A negative number in its place is a signal that the process gets instead. With number 0, no call fails. Calls
// on files count only if the file is below ROSTER_FAIL_UNDER.
// ROSTER_FAIL_TOLD names a file. At the end of the process, it gets a line "KIND COUNT" for each kind of call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
enum { MOST = 64 };

static const char *kinds[MOST];
static atomic_long counts[MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_long *count_of(const char *kind) {
  int at = 0;
  pthread_mutex_lock(&lock);
  while (at < MOST - 1 && kinds[at] && strcmp(kinds[at], kind)) at++;
  kinds[at] = kind;
  pthread_mutex_unlock(&lock);
  return &counts[at];
}

__attribute__((destructor)) static void tell_counts(void) {
  const char *path = getenv("ROSTER_FAIL_TOLD");
  FILE *told = path ? fopen(path, "we") : NULL;
  if (!told) return;
  for (int at = 0; at < MOST && kinds[at]; at++) fprintf(told, "%s %ld\n", kinds[at], atomic_load(&counts[at]));
  fclose(told);
}

// The errno for this call; 0 if it must not fail.
static int fault(const char *kind) {
  const char *order = getenv("ROSTER_FAIL");
  char wanted[32];
  long number;
  int code;
  if (!order || sscanf(order, "%31s %ld %d", wanted, &number, &code) != 3) return 0;
  long count = atomic_fetch_add(count_of(kind), 1) + 1;
  if (strcmp(wanted, kind) || count != number) return 0;
  if (code < 0) kill(getpid(), -code);
  return code;
}

static int is_below(const char *path) {
  const char *folder = getenv("ROSTER_FAIL_UNDER");
  size_t length = folder ? strlen(folder) : 0;
  return length && !strncmp(path, folder, length);
}

static int path_fault(const char *kind, const char *path) { return is_below(path) ? fault(kind) : 0; }

// Kind of the call if the descriptor is a file below the folder or a socket. Calls on other descriptors never fail.
static int file_fault(const char *file_kind, const char *socket_kind, int file) {
  char link[64], path[4096];
  int before = errno, code = 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count > 0) {
    path[count] = 0;
    if (file_kind && is_below(path)) code = fault(file_kind);
    if (socket_kind && !strncmp(path, "socket:", 7)) code = fault(socket_kind);
  }
  errno = before;
  return code;
}

#define FAIL(code, value) \
  do { \
    int failing = code; \
    if (failing) { errno = failing; return value; } \
  } while (0)

#define FILE_CALL(type, name, file_kind, socket_kind, parameters, ...) \
  type name parameters { \
    FAIL(file_fault(file_kind, socket_kind, file), -1); \
    return REAL(name)(__VA_ARGS__); \
  }
#define PATH_CALL(name, parameters, ...) \
  int name parameters { \
    FAIL(path_fault(#name, path), -1); \
    return REAL(name)(__VA_ARGS__); \
  }
#define PLAIN_CALL(name, parameters, ...) \
  int name parameters { \
    FAIL(fault(#name), -1); \
    return REAL(name)(__VA_ARGS__); \
  }

FILE_CALL(ssize_t, read, "read", "recv", (int file, void *bytes, size_t count), file, bytes, count)
FILE_CALL(ssize_t, pread, "read", NULL, (int file, void *bytes, size_t count, off_t at), file, bytes, count, at)
FILE_CALL(ssize_t, pread64, "read", NULL, (int file, void *bytes, size_t count, off64_t at), file, bytes, count, at)
FILE_CALL(ssize_t, write, "write", "send", (int file, const void *bytes, size_t count), file, bytes, count)
FILE_CALL(ssize_t, pwrite, "write", NULL, (int file, const void *bytes, size_t count, off_t at), file, bytes, count, at)
FILE_CALL(
  ssize_t, pwrite64, "write", NULL, (int file, const void *bytes, size_t count, off64_t at), file, bytes, count, at)
FILE_CALL(ssize_t, writev, "write", "send", (int file, const struct iovec *parts, int count), file, parts, count)
FILE_CALL(ssize_t, send, NULL, "send", (int file, const void *bytes, size_t count, int flags), file, bytes, count, flags)
FILE_CALL(ssize_t, sendmsg, NULL, "send", (int file, const struct msghdr *message, int flags), file, message, flags)
FILE_CALL(ssize_t, recv, NULL, "recv", (int file, void *bytes, size_t count, int flags), file, bytes, count, flags)
FILE_CALL(ssize_t, recvmsg, NULL, "recv", (int file, struct msghdr *message, int flags), file, message, flags)
FILE_CALL(int, ftruncate, "ftruncate", NULL, (int file, off_t length), file, length)
FILE_CALL(int, ftruncate64, "ftruncate", NULL, (int file, off64_t length), file, length)
FILE_CALL(int, fsync, "fsync", NULL, (int file), file)
FILE_CALL(int, fdatasync, "fsync", NULL, (int file), file)
FILE_CALL(int, fchmod, "fchmod", NULL, (int file, mode_t mode), file, mode)
FILE_CALL(int, flock, "flock", NULL, (int file, int operation), file, operation)
FILE_CALL(int, fstat, "fstat", NULL, (int file, struct stat *about), file, about)
FILE_CALL(int, fstat64, "fstat", NULL, (int file, struct stat64 *about), file, about)
FILE_CALL(
  int, setsockopt, NULL, "setsockopt", (int file, int level, int name, const void *value, socklen_t size), file, level,
  name, value, size)
FILE_CALL(
  int, getsockopt, NULL, "getsockopt", (int file, int level, int name, void *value, socklen_t *size), file, level, name,
  value, size)
FILE_CALL(
  int, connect, NULL, "connect", (int file, const struct sockaddr *address, socklen_t size), file, address, size)
FILE_CALL(int, bind, NULL, "bind", (int file, const struct sockaddr *address, socklen_t size), file, address, size)
FILE_CALL(int, listen, NULL, "listen", (int file, int backlog), file, backlog)
FILE_CALL(
  int, accept4, NULL, "accept", (int file, struct sockaddr *address, socklen_t *size, int flags), file, address, size,
  flags)
FILE_CALL(
  int, getsockname, NULL, "getsockname", (int file, struct sockaddr *address, socklen_t *size), file, address, size)
FILE_CALL(
  int, getpeername, NULL, "getpeername", (int file, struct sockaddr *address, socklen_t *size), file, address, size)

PATH_CALL(rename, (const char *path, const char *to), path, to)
PATH_CALL(link, (const char *path, const char *to), path, to)
PATH_CALL(unlink, (const char *path), path)
PATH_CALL(mkdir, (const char *path, mode_t mode), path, mode)
PATH_CALL(chmod, (const char *path, mode_t mode), path, mode)
PATH_CALL(stat, (const char *path, struct stat *about), path, about)
PATH_CALL(lstat, (const char *path, struct stat *about), path, about)
PATH_CALL(stat64, (const char *path, struct stat64 *about), path, about)
PATH_CALL(lstat64, (const char *path, struct stat64 *about), path, about)

PLAIN_CALL(socket, (int domain, int type, int protocol), domain, type, protocol)
PLAIN_CALL(epoll_create1, (int flags), flags)
PLAIN_CALL(
  epoll_ctl, (int epoll, int operation, int file, struct epoll_event *event), epoll, operation, file, event)
PLAIN_CALL(
  epoll_wait, (int epoll, struct epoll_event *events, int most, int timeout), epoll, events, most, timeout)
PLAIN_CALL(eventfd, (unsigned value, int flags), value, flags)
PLAIN_CALL(timerfd_create, (int clock, int flags), clock, flags)
PLAIN_CALL(
  timerfd_settime, (int file, int flags, const struct itimerspec *time, struct itimerspec *old), file, flags, time, old)

// Calls that allocate memory are exempt, so only EACCES and EAGAIN (a locked file) fail.
#define MMAP(name, offset_t) \
  void *name(void *at, size_t length, int access, int flags, int file, offset_t offset) { \
    FAIL(file >= 0 ? file_fault("mmap", NULL, file) : 0, MAP_FAILED); \
    return REAL(name)(at, length, access, flags, file, offset); \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

#define FCNTL(name) \
  int name(int file, int command, ...) { \
    va_list more; \
    va_start(more, command); \
    void *argument = va_arg(more, void *); \
    va_end(more); \
    FAIL(file_fault("fcntl", "fcntl-socket", file), -1); \
    return REAL(name)(file, command, argument); \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    FAIL(path_fault("open", path), -1); \
    return REAL(name)(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

int openat(int folder, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  FAIL(path_fault("open", path), -1);
  return REAL(openat)(folder, path, flags, mode);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  int code = fault("pthread_create");
  return code ? code : REAL(pthread_create)(thread, attributes, body, argument);
}
