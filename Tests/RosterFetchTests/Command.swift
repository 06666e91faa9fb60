import Dispatch
import Glibc
import NIOCore
import NIOPosix
import RosterTestSupport
import Synchronization

/// A shell command beside the test, whose output is read as it arrives.
final class Command: Sendable {
  struct Failed: Error { var output: String }

  private let pid: pid_t
  private let group: MultiThreadedEventLoopGroup
  private let output: Output
  /// The input stays open, because some programs end with it.
  private let input: CInt

  /// Runs the command while `body` runs, and then kills it.
  static func run(_ script: String, body: (Command) async throws -> Void) async throws {
    let command = try await Command(script)
    do { try await body(command) } catch {
      kill(command.pid, SIGKILL)
      _ = try await command.end()
      throw error
    }
    kill(command.pid, SIGKILL)
    _ = try await command.end()
  }

  /// Runs the command to its end. If its status is not 0, throws its output.
  @discardableResult
  static func finish(_ script: String) async throws -> [UInt8] {
    let command = try await Command(script)
    let status = try await command.end()
    let bytes = command.output.bytes
    guard status == 0 else { throw Failed(output: String(decoding: bytes, as: UTF8.self)) }
    return bytes
  }

  /// The output so far, as soon as it contains `text`. Throws if the command ends without it.
  func said(_ text: String) async throws -> String {
    try await output.wait { $0.contains(text) }
  }

  /// The complete output, after the command has ended by itself.
  func everything() async throws -> String {
    try await output.wait { _ in false }
  }

  private init(_ script: String) async throws {
    let (given, said) = (try Self.pipe(), try Self.pipe())
    pid = try Self.spawn(script, input: given.read, output: said.write)
    close(given.read)
    close(said.write)
    input = given.write
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    output = Output()
    let output = output
    _ = try await NIOPipeBootstrap(group: group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(OutputReader(output)) }
      }
      .takingOwnershipOfDescriptor(input: said.read).get()
  }

  /// A socket pair, because it has CLOEXEC from the start: no other command of this process inherits it.
  private static func pipe() throws -> (read: CInt, write: CInt) {
    var ends: [CInt] = [0, 0]
    let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
    guard socketpair(AF_UNIX, CInt(type), 0, &ends) == 0 else { throw Failed(output: "socketpair: \(errno)") }
    return (ends[0], ends[1])
  }

  private static func spawn(_ script: String, input: CInt, output: CInt) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
    closeInherited(&actions)
    var pid: pid_t = 0
    let words = ["/bin/sh", "-c", script].map { (word: String) in strdup(word) } + [nil]
    defer { for word in words { free(word) } }
    let code = posix_spawn(&pid, "/bin/sh", &actions, nil, words, environ)
    guard code == 0 else { throw Failed(output: "posix_spawn: \(code)") }
    return pid
  }

  private func end() async throws -> CInt {
    let pid = pid
    let status = await withCheckedContinuation { continuation in
      // The wait has its own queue: blocked threads of the global queue would delay every task of this process.
      DispatchQueue(label: "waitpid").async {
        var status: CInt = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        continuation.resume(returning: status)
      }
    }
    close(input)
    _ = try? await everything()
    try await group.shutdownGracefully()
    return status
  }
}

private final class Output: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var hasEnded = false
    var watchers: [(holds: @Sendable (String) -> Bool, resume: CheckedContinuation<String, any Error>)] = []
  }

  private let state = Mutex(State())

  var bytes: [UInt8] { state.withLock { $0.bytes } }

  func add(_ more: some Sequence<UInt8>) {
    change { $0.bytes += more }
  }

  func end() {
    change { $0.hasEnded = true }
  }

  func wait(_ holds: @escaping @Sendable (String) -> Bool) async throws -> String {
    try await withCheckedThrowingContinuation { resume in
      change { $0.watchers.append((holds, resume)) }
    }
  }

  private func change(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      let text = String(decoding: state.bytes, as: UTF8.self)
      let (due, later) = (
        state.watchers.filter { state.hasEnded || $0.holds(text) },
        state.watchers.filter { !(state.hasEnded || $0.holds(text)) }
      )
      state.watchers = later
      for watcher in due { watcher.resume.resume(returning: text) }
    }
  }
}

private final class OutputReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let output: Output

  init(_ output: Output) {
    self.output = output
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    output.add(unwrapInboundIn(data).readableBytesView)
  }

  func channelInactive(context: ChannelHandlerContext) {
    output.end()
  }
}
