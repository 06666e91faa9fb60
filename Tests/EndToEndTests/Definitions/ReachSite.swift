import FoundationEssentials
import RosterCore
import RosterDecode
import RosterSimulator
import Synchronization
import Testing

/// An API for one test, which answers by a function and records the requests.
final class OwnAPI: Sendable {
  typealias Answer = @Sendable (Call) throws -> Response

  private let requests = Mutex<[Request]>([])
  private let answer: Mutex<Answer>

  init(_ answer: @escaping Answer) { self.answer = Mutex(answer) }

  /// Answers by another function from now on.
  func become(_ new: @escaping Answer) { answer.withLock { $0 = new } }

  func respond(to request: Request) -> Response {
    requests.withLock { $0.append(request) }
    let answer = answer.withLock { $0 }
    do { return try answer(Call(request, prefix: "")) } catch {
      let refusal = error as? Refusal
      return Response(status: refusal?.status ?? 500, body: Array(#"{"message":"\#(refusal?.why ?? "")"}"#.utf8))
    }
  }

  /// The requests since the last call.
  func take() -> [Request] {
    requests.withLock { requests in
      defer { requests = [] }
      return requests
    }
  }

  /// The addresses of the requests since the last call, without the origin; in order.
  func takeAddresses() -> [String] { take().map(\.url) }
}

/// A site with one configuration file and an API of its own.
struct ReachSite: Sendable {
  var site: Site
  let api: OwnAPI
  var file: String { "\(site.folder)/reach.toml" }

  func write(_ toml: String) throws {
    try Data(toml.utf8).write(to: URL(filePath: file))
  }

  func writeCredential(_ name: String, _ text: String?) throws {
    let path = "\(site.folder)/\(name)"
    guard let text else { return try FileManager.default.removeItem(atPath: path) }
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  /// Writes credential files by their names.
  func writeCredentials(_ texts: [String: String]) throws {
    for (name, text) in texts { try writeCredential(name, text) }
  }

  func run(_ arguments: String...) async throws -> Program.Outcome {
    try await Program.run(
      try Program.built("rosterd"), arguments: arguments + ["--config", file], environment: site.settings)
  }

  /// Runs one sync and returns its row.
  func sync(exit: Int32 = 0, _ more: String...) async throws -> SyncRecord {
    let outcome = try await Program.run(
      try Program.built("rosterd"), arguments: ["sync", "--json", "--config", file] + more, environment: site.settings)
    try #require(outcome.exit == exit, "\(outcome.error)")
    return try JSONDecoder().decode(SyncRecord.self, from: Data(outcome.output.utf8))
  }

  /// Expects that `check` refuses the configuration with these words.
  func expectRefused(_ words: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let outcome = try await run("check")
    #expect(
      outcome.exit == 78 && words.allSatisfy(outcome.error.contains), "\(outcome.error)", sourceLocation: sourceLocation
    )
  }

  /// The first column of a query.
  func column(_ sql: String) async throws -> [String] { try await site.rows(sql).map { $0.joined(separator: " ") } }
}

/// Runs a test with this configuration. Its API is the origin of the simulator.
func withReach(
  _ toml: String, answer: @escaping OwnAPI.Answer = { _ in .list([]) }, body: (ReachSite) async throws -> Void
) async throws {
  let api = OwnAPI(answer)
  var scenario = Scenario(characters: [])
  scenario.beside = { api.respond(to: $0) }
  try await withSite(scenario) { site in
    var site = site
    site.settings["ROSTERD_UPSTREAM_BASE_URL"] = site.upstream.origin
    let reach = ReachSite(site: site, api: api)
    try reach.write(toml)
    try await body(reach)
  }
}

extension JSONValue {
  /// A record by its members.
  static func record(_ members: (String, JSONValue)...) -> JSONValue { .object(members.map { .init($0.0, $0.1) }) }

  /// A list of records that have nothing but an id.
  static func list(ids: [Int]) -> JSONValue { .list(ids.map { .record(("id", .number("\($0)"))) }) }
}

extension Response {
  /// A list of records that have nothing but an id, as the whole answer.
  static func list(ids: [Int]) -> Response { json(.list(ids: ids)) }

  /// A list of records as the whole answer.
  static func list(_ records: [JSONValue], headers: [Request.Header] = []) -> Response {
    json(.list(records), headers: headers)
  }
}
