import ArgumentParser
import FoundationEssentials
import Glibc
import RosterModel
import RosterStatus

/// Where the daemon is.
struct DaemonOptions: ParsableArguments {
  @Option(help: "The daemon's status socket.", completion: .file())
  var socket: String?

  @Option(help: "The cache, a file that ends in .db.", completion: .file())
  var cache: String?

  var client: StatusClient { StatusClient(socket: socketPath(option: socket, environment: environment)) }
}

var environment: [String: String] { ProcessInfo.processInfo.environment }

/// The option, else the environment, else the daemon's own default; of a user's daemon only where there is one, since a user may ask the system's too.
func socketPath(option: String?, environment: [String: String]) -> String {
  if let path = option ?? environment["ROSTERD_STATUS_SOCKET"], !path.isEmpty { return path }
  // The configuration file's status.socket belongs here, before the defaults.
  let system = "/run/rosterd/status.sock"
  guard getuid() != 0, let folder = environment["XDG_RUNTIME_DIR"], !folder.isEmpty else { return system }
  let own = folder + "/rosterd/status.sock"
  return access(own, F_OK) == 0 ? own : system
}

extension Response {
  /// The answer's body, where the status is a good one; otherwise what the daemon says against it, as a `Failure`.
  func body(of step: String) throws -> [UInt8] {
    if (200..<300).contains(status) { return body }
    struct Problem: Decodable {
      var detail: String
      var exit: Int32?
    }
    let problem = try? JSONDecoder().decode(Problem.self, from: Data(body))
    let exit = problem?.exit.flatMap(Failure.Exit.init) ?? (status == 403 ? .refused : .badAnswer)
    throw Failure(exit, step: step, subject: "the daemon", cause: problem?.detail ?? "it answered \(status)")
  }

  func decoded<Value: Decodable>(_ type: Value.Type, of step: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(try body(of: step)))
  }
}
