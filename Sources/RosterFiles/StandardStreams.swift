import Glibc

/// Opens /dev/null for each standard stream that is closed. Otherwise a socket or a file could get that number and be
/// taken for the stream. Each stand-in allows only the opposite direction, so that to use the stream still fails
/// (EBADF).
package func occupyStandardStreams() {
  for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
    // open(2) returns the lowest free number, which is this stream's.
    _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
  }
}
