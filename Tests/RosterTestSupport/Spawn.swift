package import Glibc

/// Closes all inherited descriptors except the standard streams in a child. Otherwise the child would keep a connection
/// open that this process has closed, and the other side would wait for an end in vain. Call it after adding the other
/// actions.
package func closeInherited(_ actions: inout posix_spawn_file_actions_t) {
  // Closing an unused number is not an error here (posix_spawn_file_actions_addclose(3)), and no test run has more
  // descriptors.
  for descriptor in STDERR_FILENO + 1..<4096 { posix_spawn_file_actions_addclose(&actions, descriptor) }
}
