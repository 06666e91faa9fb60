import Glibc
import RosterModel
import RosterSystemd
import Testing

/// systemd leaves no gap between 3 and the last that it passes.
private func fillDescriptors(below last: CInt) {
  while open("/dev/null", O_RDONLY) < last {}
}

/// Each runs in a process of its own, because libsystemd reads the environment and takes descriptors from 3 on.
@Suite struct ListenTests {
  @Test("S3: a passed listening Unix socket is found, made close-on-exec, and not found again")
  func passed() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let path = folder.path + "/status.sock"
      let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
      try #require(withUnixAddress(path) { bind(listener, $0, $1) } == 0 && listen(listener, 8) == 0)
      fillDescriptors(below: listener)
      setenv("LISTEN_FDS", "\(listener - 2)", 1)
      setenv("LISTEN_PID", "\(getpid())", 1)
      #expect(try Listen.passedSocket() == listener)
      #expect(fcntl(listener, F_GETFD) & FD_CLOEXEC != 0)
      #expect(getenv("LISTEN_FDS") == nil)
      #expect(try Listen.passedSocket() == nil)
    }
  }

  @Test("S3: without LISTEN_FDS, or with those of another process, there is none")
  func none() async {
    await #expect(processExitsWith: .success) {
      let without = try Listen.passedSocket()
      #expect(without == nil)
      setenv("LISTEN_FDS", "1", 1)
      setenv("LISTEN_PID", "1", 1)
      let foreign = try Listen.passedSocket()
      #expect(foreign == nil)
    }
  }

  @Test("S3: a passed socket of another kind is refused with 73")
  func otherKind() async {
    await #expect(processExitsWith: .success) {
      let other = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
      try #require(listen(other, 8) == 0)
      fillDescriptors(below: other)
      setenv("LISTEN_FDS", "\(other - 2)", 1)
      setenv("LISTEN_PID", "\(getpid())", 1)
      let failure = #expect(throws: Failure.self) { try Listen.passedSocket() }
      #expect(failure?.exit == .cannotWrite)
    }
  }
}
