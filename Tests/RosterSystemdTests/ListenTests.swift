import Glibc
import RosterCore
import RosterSystemd
import RosterTestSupport
import Testing

/// Runs `body` with a descriptor at the first numbers that systemd uses. Descriptors that the test library has there
/// are restored.
private func passing<Value>(_ descriptor: CInt, count: CInt = 1, body: () -> Value) -> Value {
  let places = 3..<3 + count
  let before = places.map { dup($0) }
  for place in places { dup2(descriptor, place) }
  defer {
    for (place, kept) in zip(places, before) { if kept < 0 { close(place) } else { dup2(kept, place) } }
  }
  setenv("LISTEN_FDS", "\(count)", 1)
  setenv("LISTEN_PID", "\(getpid())", 1)
  return body()
}

private typealias Passed = Result<CInt?, Failure>

private func passedSocket() -> Passed {
  Result { () throws(Failure) in try Listen.passedSocket() }
}

/// Each test runs in a process of its own, because libsystemd reads the environment and takes descriptors from 3 on.
@Suite struct ListenTests {
  @Test("45: a passed listening Unix socket is found, made close-on-exec, and not found again")
  func passed() async {
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        let path = folder + "/status.sock"
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        try #require(withUnixAddress(path) { bind(listener, $0, $1) } == 0 && listen(listener, 8) == 0)
        let (first, isKept, isTold, second) = passing(listener) {
          (passedSocket(), fcntl(3, F_GETFD) & FD_CLOEXEC == 0, getenv("LISTEN_FDS") != nil, passedSocket())
        }
        #expect(first == Passed.success(3))
        #expect(!isKept && !isTold)
        #expect(second == Passed.success(nil))
      }
    }
  }

  @Test("45: without LISTEN_FDS, or with those of another process, there is no passed socket")
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

  @Test("45: a passed socket of another kind is refused with 73")
  func otherKind() async {
    await #expect(processExitsWith: .success) {
      let other = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
      try #require(listen(other, 8) == 0)
      guard case .failure(let failure) = passing(other, body: passedSocket) else { return #expect(Bool(false)) }
      #expect(failure.kind == .cannotWrite)
    }
  }

  @Test("45: more than one passed socket is refused with 73")
  func tooMany() async {
    await #expect(processExitsWith: .success) {
      try await withFolder { folder in
        let listener = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
        try #require(withUnixAddress(folder + "/s") { bind(listener, $0, $1) } == 0 && listen(listener, 8) == 0)
        guard case .failure(let failure) = passing(listener, count: 2, body: passedSocket) else {
          return #expect(Bool(false))
        }
        #expect(failure.kind == .cannotWrite && failure.cause.contains("2 descriptors"))
      }
    }
  }
}
