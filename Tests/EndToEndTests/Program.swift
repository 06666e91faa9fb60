import Dispatch
import FoundationEssentials
import Glibc
import RosterTestSupport
import Synchronization
import Testing

/// A program that a test starts, in its own process group and environment. Its output goes to files, because a pipe
/// could fill up.
final class Program: Sendable {
  struct Outcome: Sendable {
    var exit: Int32
    var output: String
    var error: String
  }

  struct Missing: Error { var what: String }

  let pid: pid_t
  private let folder: URL
  private let exits: AsyncStream<Int32>
  private let state = State()

  private final class State: Sendable {
    let ended = Mutex<ContinuousClock.Instant?>(nil)
  }

  /// - Parameter ended: called from any thread after the program has ended.
  init(
    _ path: String, arguments: [String], environment: [String: String] = [:], input: String = "",
    ended: @escaping @Sendable () -> Void = {}
  ) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "program-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(input.utf8).write(to: folder.appending(path: "in"))
    let pid = try Self.spawn(path, arguments: arguments, environment: environment, folder: folder)
    self.pid = pid
    let (exits, exited) = AsyncStream<Int32>.makeStream()
    self.exits = exits
    // The wait has its own queue: blocked threads of the global queue would delay every task of this process.
    DispatchQueue(label: "waitpid").async { [state] in
      var status: Int32 = 0
      var about = siginfo_t()
      // The process stays a zombie, so that its pid is not reused before `ended` is set.
      while waitid(P_PID, id_t(pid), &about, WEXITED | WNOWAIT) < 0 && errno == EINTR {}
      state.ended.withLock { ended in
        ended = .now
        waitpid(pid, &status, 0)
      }
      ended()
      exited.yield(status)
      exited.finish()
    }
  }

  deinit {
    signal(SIGKILL)
    try? FileManager.default.removeItem(at: folder)
  }

  /// Runs the program to its end.
  static func run(
    _ path: String, arguments: [String], environment: [String: String] = [:], input: String = ""
  ) async throws -> Outcome {
    try await Program(path, arguments: arguments, environment: environment, input: input).end()
  }

  /// After the program has ended, its pid may belong to another one.
  func signal(_ number: Int32) {
    state.ended.withLock { ended in
      if ended == nil { kill(pid, number) }
    }
  }

  var isRunning: Bool { ended == nil }

  /// Time of the end, even if the tasks of this process notice it later.
  var ended: ContinuousClock.Instant? { state.ended.withLock { $0 } }

  /// Returns when a signal has stopped it, or it has ended.
  func stopped() async {
    await withCheckedContinuation { met in
      DispatchQueue(label: "waitid").async { [pid] in
        var about = siginfo_t()
        while waitid(P_PID, id_t(pid), &about, WSTOPPED | WEXITED | WNOWAIT) < 0 && errno == EINTR {}
        met.resume()
      }
    }
  }

  /// Peak memory in bytes; available while the program runs.
  func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let kibibytes = status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap { Int($0.1) }
    return try #require(kibibytes) << 10
  }

  /// True if any process that it started still runs.
  var leavesProcesses: Bool { kill(-pid, 0) == 0 || errno != ESRCH }

  /// Returns when the program has ended; call it once. The exit code is negative if a signal killed the program.
  func end() async throws -> Outcome {
    guard let status = await exits.first(where: { _ in true }) else { throw CancellationError() }
    let signal = status & 0x7f  // wait(2): WTERMSIG
    return Outcome(exit: signal == 0 ? (status >> 8) & 0xff : -signal, output: text("out"), error: text("err"))
  }

  /// The same after a signal.
  func end(by number: Int32) async throws -> Outcome {
    signal(number)
    return try await end()
  }

  /// Its output on stderr so far.
  var complaints: String { text("err") }

  private func text(_ name: String) -> String {
    String(decoding: FileManager.default.contents(atPath: folder.appending(path: name).path) ?? Data(), as: UTF8.self)
  }

  private static func spawn(
    _ path: String, arguments: [String], environment: [String: String], folder: URL
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let writing = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, folder.appending(path: "in").path, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, folder.appending(path: "out").path, writing, 0o600)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, folder.appending(path: "err").path, writing, 0o600)
    closeInherited(&actions)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The threads of this process block signals, and a child would inherit that.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
    var pid: pid_t = 0
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    let settings = environment.merging(Sanitizer.settings) { own, _ in own }
    let variables = settings.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + variables { free(word) } }
    let code = posix_spawnp(&pid, path, &actions, &attributes, words, variables)
    guard code == 0 else { throw Missing(what: "\(path): \(String(cString: strerror(code)))") }
    return pid
  }
}

// MARK: Where programs are

extension Program {
  /// The programs of this package are beside the test's own program.
  static func built(_ name: String) throws -> String {
    let program = productFolder + "/" + name
    guard access(program, X_OK) == 0 else { throw Missing(what: program) }
    return program
  }

  /// Skips the test if the program is not in PATH.
  static func tool(_ name: String) throws -> String {
    // nginx is a system administrator's tool.
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin"
    for folder in path.split(separator: ":") {
      let tool = "\(folder)/\(name)"
      if access(tool, X_OK) == 0 { return tool }
    }
    try skip("\(name) is not in PATH")
  }

  static var productFolder: String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count - 1)
    let own = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    // The runner is the toolchain's; the bundle that it loads is its argument.
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own
    return bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
  }
}
