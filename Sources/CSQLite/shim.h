#include <fcntl.h>
#include <linux/stat.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

// sqlite3_db_config is variadic, which Swift cannot call.
static inline int roster_checkpoint_on_close(sqlite3 *database, int wanted) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !wanted, (int *)0);
}

// When a file was made, in ns since 1970; 0 where that is not kept. statx(2) is behind _GNU_SOURCE, without which
// Swift's Glibc is made.
static inline long long roster_birth(const char *path) {
  struct statx found;
  if (syscall(SYS_statx, AT_FDCWD, path, 0, STATX_BTIME, &found) != 0 || !(found.stx_mask & STATX_BTIME)) return 0;
  return found.stx_btime.tv_sec * 1000000000LL + found.stx_btime.tv_nsec;
}

// Stops SQLite from counting its memory. The totals are not used, and each allocation would take a lock to count them.
// Call this before any other function of SQLite; it fails afterwards. sqlite3_config is variadic.
static inline int roster_stop_counting_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

// Swift takes the variable sqlite3_temp_directory for shared mutable state.
static inline void roster_set_temporary_folder(const char *folder) {
  sqlite3_temp_directory = sqlite3_mprintf("%s", folder);
}
