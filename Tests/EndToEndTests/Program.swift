import Dispatch
import FoundationEssentials
import Glibc

/// A program that a test runs to its end.
struct Program {
  struct Outcome: Sendable {
    var exit: Int32
    var output: String
    var error: String
  }

  struct Missing: Error { var what: String }

  /// The programs of this package lie beside the test's own.
  static func built(_ name: String) throws -> String {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count - 1)
    let own = String(decoding: path.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    // The runner is the toolchain's; the bundle that it loads is its argument.
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? own
    let folder = bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    let program = folder + "/" + name
    guard access(program, X_OK) == 0 else { throw Missing(what: program) }
    return program
  }

  /// Runs it with these arguments and this environment alone. Input and output go through files, so that no pipe can fill up.
  static func run(_ path: String, _ arguments: [String], environment: [String: String] = [:], input: String = "")
    async throws -> Outcome
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "program-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (output, error) = (folder.appending(path: "out"), folder.appending(path: "err"))
    let given = folder.appending(path: "in")
    try Data(input.utf8).write(to: given)
    let pid = try spawn(path, arguments, environment, input: given.path, output: output.path, error: error.path)
    let status = await withCheckedContinuation { continuation in
      // A queue of its own: blocked threads of the global one would hold up every task of this process.
      DispatchQueue(label: "waitpid").async {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
        continuation.resume(returning: status)
      }
    }
    let signal = status & 0x7f  // wait(2): WTERMSIG
    return Outcome(
      exit: signal == 0 ? (status >> 8) & 0xff : -signal, output: try String(contentsOf: output, encoding: .utf8),
      error: try String(contentsOf: error, encoding: .utf8))
  }

  private static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String: String], input: String, output: String, error: String
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let writing = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, writing, 0o600)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error, writing, 0o600)
    var pid: pid_t = 0
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + variables { free(word) } }
    let code = posix_spawnp(&pid, path, &actions, nil, words, variables)
    guard code == 0 else { throw Missing(what: "\(path): \(String(cString: strerror(code)))") }
    return pid
  }
}
