import FoundationEssentials
import RosterModel
import RosterStatusClient

extension SyncRequest.Accepted {
  var text: String { "sync \(sync) " + (joined ? "runs already, joined" : "started") }
}

extension SyncRequest {
  /// Throws a Failure, 77 where the daemon refuses this user.
  func send(_ client: StatusClient, within limit: Duration = .seconds(10)) async throws -> (Response, Accepted) {
    let answer = try await client.send("POST", "/v1/sync", body: Array(try JSONEncoder().encode(self)), within: limit)
    do {
      return (answer, try answer.decoded(Accepted.self, of: "ask for a sync"))
    } catch let failure as Failure {
      throw failure.withOwner(of: client, for: "sync")
    }
  }
}
