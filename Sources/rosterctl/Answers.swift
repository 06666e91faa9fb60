import FoundationEssentials
import RosterModel
import RosterStatusClient

extension Response {
  /// The answer's body, where the status is a good one; otherwise what the daemon says against it, as a `Failure`.
  func body(of step: String) throws -> [UInt8] {
    if (200..<300).contains(status) { return body }
    struct Problem: Decodable {
      var detail: String?
      var exit: Int32?
    }
    guard let problem = try? JSONDecoder().decode(Problem.self, from: Data(body)) else {
      throw Self.strange(step, cause: "it answered \(status) without a reason")
    }
    let exit = problem.exit.flatMap(Failure.Kind.init(rawValue:)) ?? (status == 403 ? .refused : .badAnswer)
    throw Failure(exit, step: step, subject: "the daemon", cause: problem.detail ?? "it answered \(status)")
  }

  func decoded<Value: Decodable>(_ type: Value.Type, of step: String) throws -> Value {
    let body = try body(of: step)
    do { return try JSONDecoder().decode(type, from: Data(body)) } catch {
      if let version = Self.otherVersion(body) {
        throw Failure(
          .noDaemon, step: step, subject: "the daemon",
          cause: "rosterd \(version) answers, which rosterctl \(rosterdVersion) does not understand",
          hint: "restart rosterd, so that it runs the installed version")
      }
      throw Self.strange(step, cause: "its answer is not rosterd's")
    }
  }

  /// The body unchanged, where it is a JSON object of whatever members.
  func json(of step: String) throws -> [UInt8] {
    struct Member: Decodable {}
    _ = try decoded([String: Member].self, of: step)
    return body
  }

  /// The version of the daemon that answers, if it is another one.
  private static func otherVersion(_ body: [UInt8]) -> String? {
    struct Status: Decodable { var version: String }
    let version = (try? JSONDecoder().decode(Status.self, from: Data(body)))?.version
    return version == rosterdVersion ? nil : version
  }

  private static func strange(_ step: String, cause: String) -> Failure {
    Failure(
      .noDaemon, step: step, subject: "the daemon", cause: "no rosterd answers: \(cause)",
      hint: "see whether --socket names rosterd's status.socket")
  }
}

extension DaemonStatus {
  static let step = "ask for the status"
}

/// `/v1/syncs`.
struct SyncList: Codable {
  static let step = "ask for the syncs"

  var syncs: [SyncRecord]
}

extension StatusClient {
  /// As `send` has it.
  static let patience = Duration.seconds(10)

  func status(within limit: Duration = patience) async throws -> DaemonStatus {
    try await send("GET", target: "/v1/status", within: limit).decoded(DaemonStatus.self, of: DaemonStatus.step)
  }

  /// The latest first.
  func syncs(_ count: Int, within limit: Duration = patience) async throws -> [SyncRecord] {
    try await send("GET", target: "/v1/syncs?limit=\(count)", within: limit).decoded(SyncList.self, of: SyncList.step)
      .syncs
  }
}
