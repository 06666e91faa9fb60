// Loaded into rosterd with LD_PRELOAD: makes file calls fail and name look-ups hang, as a test requests.
//
// ROSTER_FAULTS names a folder with these control files:
// - `write`, `read`, `sync` or `open`: calls of that kind fail with the errno (a number) in the file. Optional further
//   words are the ends of the affected paths.
// - `stop`: contains an offset. The process stops before it writes at or beyond that offset.
// - `once`: contains a number n, an errno and ends of paths. The n-th call on such files fails and creates a file
//   `failed`. A negative errno is a signal that the process gets instead. Writes, truncations, flushes, openings for
//   writing, renamings and mappings count. At its end, the process writes the number of such calls into a file `calls`.
// - `hang`: contains any number and ends of paths. The thread that writes to such a file hangs. It opens the FIFO
//   `hung` in the folder for writing, which notifies the test. Then it opens the FIFO `go` for reading, which waits for
//   the test.
// - A socket `names`: every name look-up is announced there, and hangs.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

// Uses system calls directly, so that reading the control files cannot fail on request.
static int orders(const char *kind, char *text, size_t size) {
  const char *folder = getenv("ROSTER_FAULTS");
  char path[4096];
  if (!folder || snprintf(path, sizeof path, "%s/%s", folder, kind) >= (int)sizeof path) return 0;
  int file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t count = syscall(SYS_read, file, text, size - 1);
  syscall(SYS_close, file);
  if (count <= 0) return 0;
  text[count] = 0;
  return 1;
}

static int ends_with(const char *path, const char *end) {
  size_t whole = strlen(path), part = strlen(end);
  return whole >= part && !strcmp(path + whole - part, end);
}

// True if one of these words is the end of the path, or if there are no words.
static int is_meant(const char *path, char *words) {
  char *rest, *end = strtok_r(words, " \n", &rest);
  if (!end) return 1;
  for (; end; end = strtok_r(NULL, " \n", &rest))
    if (ends_with(path, end)) return 1;
  return 0;
}

static void say(const char *name, const char *text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("ROSTER_FAULTS"), name);
  int file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  syscall(SYS_write, file, text, strlen(text));
  syscall(SYS_close, file);
}

static atomic_long calls;

static int fault_once(const char *kind, const char *path) {
  static const char *const kinds[] = {"write", "sync", "open", "rename", "mmap", NULL};
  char text[1024], *rest;
  int at = 0;
  while (kinds[at] && strcmp(kinds[at], kind)) at++;
  if (!kinds[at] || !orders("once", text, sizeof text)) return 0;
  long wanted = strtol(text, &rest, 10);
  int code = (int)strtol(rest, &rest, 10);
  if (!is_meant(path, rest) || atomic_fetch_add(&calls, 1) + 1 != wanted) return 0;
  say("failed", path);
  if (code < 0) kill(getpid(), -code);
  return code < 0 ? 0 : code;
}

__attribute__((destructor)) static void tell_calls(void) {
  char text[32];
  if (!getenv("ROSTER_FAULTS") || !orders("once", text, sizeof text)) return;
  snprintf(text, sizeof text, "%ld", atomic_load(&calls));
  say("calls", text);
}

// The errno for a call of this kind on this path; 0 if it must not fail.
static int fault(const char *kind, const char *path) {
  char text[1024], *rest;
  int before = errno, code = 0;
  if (orders(kind, text, sizeof text)) {
    code = (int)strtol(text, &rest, 10);
    if (!is_meant(path, rest)) code = 0;
  }
  if (!code) code = fault_once(kind, path);
  errno = before;
  return code;
}

static int fault_of(const char *kind, int file) {
  char link[64], path[4096];
  struct stat about;
  if (!getenv("ROSTER_FAULTS") || fstat(file, &about) || !(S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count <= 0) return 0;
  path[count] = 0;
  return fault(kind, path);
}

#define FAIL_IF(kind, file) \
  do { \
    int code = fault_of(kind, file); \
    if (code) { errno = code; return -1; } \
  } while (0)

static void stop_at(int file, off64_t at) {
  int offset = fault_of("stop", file);
  if (offset && at >= offset) raise(SIGSTOP);
}

static void meet(const char *fifo, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("ROSTER_FAULTS"), fifo);
  int end = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC);
  if (end >= 0) syscall(SYS_close, end);
}

static void hang(int file) {
  int before = errno;
  if (fault_of("hang", file)) {
    meet("hung", O_WRONLY);
    meet("go", O_RDONLY);
  }
  errno = before;
}

ssize_t write(int file, const void *bytes, size_t count) {
  FAIL_IF("write", file);
  return REAL(write)(file, bytes, count);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  hang(file);
  stop_at(file, at);
  FAIL_IF("write", file);
  return REAL(pwrite)(file, bytes, count, at);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  hang(file);
  stop_at(file, at);
  FAIL_IF("write", file);
  return REAL(pwrite64)(file, bytes, count, at);
}
int ftruncate(int file, off_t length) {
  FAIL_IF("write", file);
  return REAL(ftruncate)(file, length);
}
int ftruncate64(int file, off64_t length) {
  FAIL_IF("write", file);
  return REAL(ftruncate64)(file, length);
}
ssize_t read(int file, void *bytes, size_t count) {
  FAIL_IF("read", file);
  return REAL(read)(file, bytes, count);
}
ssize_t pread(int file, void *bytes, size_t count, off_t at) {
  FAIL_IF("read", file);
  return REAL(pread)(file, bytes, count, at);
}
ssize_t pread64(int file, void *bytes, size_t count, off64_t at) {
  FAIL_IF("read", file);
  return REAL(pread64)(file, bytes, count, at);
}
int fsync(int file) {
  FAIL_IF("sync", file);
  return REAL(fsync)(file);
}
int fdatasync(int file) {
  FAIL_IF("sync", file);
  return REAL(fdatasync)(file);
}

int rename(const char *from, const char *to) {
  int code = fault("rename", to);
  if (code) { errno = code; return -1; }
  return REAL(rename)(from, to);
}

#define MMAP(name, offset_t) \
  void *name(void *at, size_t length, int access, int flags, int file, offset_t offset) { \
    int code = file >= 0 ? fault_of("mmap", file) : 0; \
    if (code) { errno = code; return MAP_FAILED; } \
    return REAL(name)(at, length, access, flags, file, offset); \
  }

MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

// Only opening for writing fails, as on a read-only file system or one without room for another file.
static int open_fault(const char *path, int flags) {
  return flags & (O_CREAT | O_WRONLY | O_RDWR) ? fault("open", path) : 0;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    int code = open_fault(path, flags); \
    if (code) { errno = code; return -1; } \
    return REAL(name)(path, flags, mode); \
  }

OPEN(open)
OPEN(open64)

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const char *folder = getenv("ROSTER_FAULTS");
  if (folder && snprintf(address.sun_path, sizeof address.sun_path, "%s/names", folder) < (int)sizeof address.sun_path) {
    int told = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ssize_t sent = sendto(told, "asked", 5, 0, (struct sockaddr *)&address, sizeof address);
    close(told);
    while (sent > 0) pause();
  }
  return REAL(getaddrinfo)(name, service, hints, found);
}
