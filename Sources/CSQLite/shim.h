#include <sqlite3.h>

// sqlite3_db_config is variadic, which Swift cannot call.
static inline int roster_checkpoint_on_close(sqlite3 *database, int wanted) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !wanted, (int *)0);
}
