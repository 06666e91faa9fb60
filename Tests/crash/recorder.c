// Loaded into rosterd with LD_PRELOAD: records all calls that change files below a folder, and all bytes sent to
// sockets, in their order. Tests/crash/disk.py reads the log.
//
// ROSTER_RECORD names the log, ROSTER_RECORD_UNDER the folder. A record is a head (struct head), then the bytes of the
// first text, then those of the second. A lock around each call and its record keeps the log in the order of the calls.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
// Maximum number of recorded bytes of a sent request.
enum { HEAD_BYTES = 2048 };

struct head {
  uint32_t kind, first, second, unused;
  uint64_t inode, number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int record_file(void) {
  static int file = -1;
  const char *path = getenv("ROSTER_RECORD");
  if (file < 0 && path) file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  return file;
}

static void note(char kind, ino_t inode, off_t number, const void *first, size_t firsts, const char *second) {
  int before = errno, file = record_file();
  struct head head = {kind, firsts, second ? strlen(second) : 0, 0, inode, number};
  struct iovec parts[] = {{&head, sizeof head}, {(void *)first, firsts}, {(void *)second, head.second}};
  if (file >= 0 && syscall(SYS_writev, file, parts, 3) != (long)(sizeof head + firsts + head.second)) abort();
  errno = before;
}

static int is_below(const char *path) {
  const char *folder = getenv("ROSTER_RECORD_UNDER");
  size_t length = folder ? strlen(folder) : 0;
  return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

// True if the descriptor is a file or folder below the folder; also returns its path and inode.
static int is_meant(int file, char path[4096], struct stat *about) {
  char link[64];
  int before = errno, meant = 0;
  if (!fstat(file, about) && (S_ISREG(about->st_mode) || S_ISDIR(about->st_mode))) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t count = readlink(link, path, 4095);
    if (count > 0) {
      path[count] = 0;
      meant = is_below(path);
    }
  }
  errno = before;
  return meant;
}

#define LOCKED(type, call) \
  pthread_mutex_lock(&lock); \
  type result = call

#define DONE \
  pthread_mutex_unlock(&lock); \
  return result

static void note_write(int file, const void *bytes, ssize_t count, off_t at) {
  char path[4096];
  struct stat about;
  if (count <= 0) return;
  if (is_meant(file, path, &about)) {
    if (at < 0) at = lseek(file, 0, SEEK_CUR) - count;
    note('W', about.st_ino, at, bytes, count, NULL);
  } else if (S_ISSOCK(about.st_mode)) {
    note('N', 0, 0, bytes, count < HEAD_BYTES ? count : HEAD_BYTES, NULL);
  }
}

static void note_parts(int file, const struct iovec *parts, int number, ssize_t count) {
  if (count <= 0) return;
  char *all = malloc(count);
  size_t done = 0;
  for (int i = 0; i < number && done < (size_t)count; i++) {
    size_t part = parts[i].iov_len < count - done ? parts[i].iov_len : count - done;
    memcpy(all + done, parts[i].iov_base, part);
    done += part;
  }
  note_write(file, all, count, -1);
  free(all);
}

ssize_t write(int file, const void *bytes, size_t count) {
  LOCKED(ssize_t, REAL(write)(file, bytes, count));
  note_write(file, bytes, result, -1);
  DONE;
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  LOCKED(ssize_t, REAL(pwrite)(file, bytes, count, at));
  note_write(file, bytes, result, at);
  DONE;
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  LOCKED(ssize_t, REAL(pwrite64)(file, bytes, count, at));
  note_write(file, bytes, result, at);
  DONE;
}
ssize_t writev(int file, const struct iovec *parts, int number) {
  LOCKED(ssize_t, REAL(writev)(file, parts, number));
  note_parts(file, parts, number, result);
  DONE;
}
ssize_t send(int file, const void *bytes, size_t count, int flags) {
  LOCKED(ssize_t, REAL(send)(file, bytes, count, flags));
  note_write(file, bytes, result, -1);
  DONE;
}
ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
  LOCKED(ssize_t, REAL(sendmsg)(file, message, flags));
  note_parts(file, message->msg_iov, message->msg_iovlen, result);
  DONE;
}

static void note_file(char kind, int file, off_t number, int result) {
  char path[4096];
  struct stat about;
  if (result || !is_meant(file, path, &about)) return;
  if (kind == 'S' && S_ISDIR(about.st_mode)) kind = 'D';
  note(kind, about.st_ino, number, path, strlen(path), NULL);
}

int ftruncate(int file, off_t length) {
  LOCKED(int, REAL(ftruncate)(file, length));
  note_file('T', file, length, result);
  DONE;
}
int ftruncate64(int file, off64_t length) {
  LOCKED(int, REAL(ftruncate64)(file, length));
  note_file('T', file, length, result);
  DONE;
}
int fallocate(int file, int mode, off_t at, off_t length) {
  LOCKED(int, REAL(fallocate)(file, mode, at, length));
  note_file(mode ? 'X' : 'A', file, at + length, result);
  DONE;
}
int posix_fallocate(int file, off_t at, off_t length) {
  LOCKED(int, REAL(posix_fallocate)(file, at, length));
  note_file('A', file, at + length, result);
  DONE;
}
int posix_fallocate64(int file, off64_t at, off64_t length) {
  LOCKED(int, REAL(posix_fallocate64)(file, at, length));
  note_file('A', file, at + length, result);
  DONE;
}
int fsync(int file) {
  LOCKED(int, REAL(fsync)(file));
  note_file('S', file, 0, result);
  DONE;
}
int fdatasync(int file) {
  LOCKED(int, REAL(fdatasync)(file));
  note_file('S', file, 0, result);
  DONE;
}

// Writes to a shared mapping cannot be recorded: the reader of the log allows one for `-shm` alone.
#define MMAP(name, offset_t) \
  void *name(void *at, size_t length, int access, int flags, int file, offset_t offset) { \
    void *result = REAL(name)(at, length, access, flags, file, offset); \
    if (file >= 0 && (access & PROT_WRITE) && (flags & MAP_SHARED)) { \
      pthread_mutex_lock(&lock); \
      note_file('X', file, 0, result == MAP_FAILED); \
      pthread_mutex_unlock(&lock); \
    } \
    return result; \
  }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

static void note_names(char kind, const char *from, const char *to, int result) {
  if (!result && is_below(from)) note(kind, 0, 0, from, strlen(from), to);
}

int rename(const char *from, const char *to) {
  LOCKED(int, REAL(rename)(from, to));
  note_names('R', from, to, result);
  DONE;
}
int renameat(int one, const char *from, int other, const char *to) {
  LOCKED(int, REAL(renameat)(one, from, other, to));
  note_names('R', from, to, result);
  DONE;
}
int link(const char *from, const char *to) {
  LOCKED(int, REAL(link)(from, to));
  note_names('L', from, to, result);
  DONE;
}
int unlink(const char *path) {
  LOCKED(int, REAL(unlink)(path));
  note_names('U', path, NULL, result);
  DONE;
}
int mkdir(const char *path, mode_t mode) {
  LOCKED(int, REAL(mkdir)(path, mode));
  note_names('M', path, NULL, result);
  DONE;
}

static int opened(int (*real)(const char *, int, ...), const char *path, int flags, mode_t mode) {
  struct stat about;
  pthread_mutex_lock(&lock);
  int before = errno;
  int was_there = !lstat(path, &about);
  errno = before;
  int result = real(path, flags, mode);
  if (result >= 0 && is_below(path) && !fstat(result, &about) && S_ISREG(about.st_mode)) {
    if (!was_there) note('C', about.st_ino, 0, path, strlen(path), NULL);
    else if (flags & O_TRUNC) note('T', about.st_ino, 0, path, strlen(path), NULL);
  }
  DONE;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    return opened(REAL(name), path, flags, mode); \
  }
OPEN(open)
OPEN(open64)
