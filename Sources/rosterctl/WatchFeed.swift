import RosterModel
import RosterStatusClient

/// The requests that both views send to the daemon.
struct WatchFeed: Sendable {
  let client: StatusClient

  /// Time after which a silent daemon is shown as not answering.
  private static let patience = Duration.seconds(2)
  /// The screen shows at once that the daemon does not answer, and waits for it until the user quits.
  private static let policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)

  var events: EventFollower { EventFollower(client: client, policy: Self.policy) }

  func status() async throws -> DaemonStatus { try await client.status(within: Self.patience) }

  /// The latest first.
  func syncs(_ count: Int) async throws -> [SyncRecord] { try await client.syncs(count, within: Self.patience) }

  /// Requests a sync, and describes the answer.
  func askForSync() async throws -> String {
    let request = SyncRequest()
    return try request.accepted(try await request.post(to: client), client: client).text
  }
}
