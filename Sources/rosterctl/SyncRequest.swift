import FoundationEssentials
import RosterModel
import RosterStatusClient

extension SyncRequest.Accepted {
  var text: String { "sync \(sync) " + (joined ? "is already running, and this request shares it" : "started") }
}

extension SyncRequest {
  func post(to client: StatusClient) async throws -> Response {
    try await client.send("POST", target: "/v1/sync", body: Array(try JSONEncoder().encode(self)), within: .seconds(10))
  }

  /// Throws a Failure, 77 if the daemon refuses this user.
  func accepted(_ answer: Response, client: StatusClient) throws -> Accepted {
    do {
      return try answer.decoded(Accepted.self, of: "ask for a sync")
    } catch let failure as Failure {
      throw failure.withOwner(of: client, for: "sync")
    }
  }
}
