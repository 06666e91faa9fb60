import Glibc

/// Fills the places of standard streams that are closed, before a socket or a file gets one of them and is taken for
/// that stream. To use such a stream is an error (EBADF) as before: it can only be used the other way round.
package func occupyStandardStreams() {
  for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
    // The lowest free number (open(2)).
    _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
  }
}
