import RosterModel
import RosterStatusClient

/// What both views ask the daemon for.
struct WatchFeed: Sendable {
  let client: StatusClient

  /// A daemon that stopped answering is told as gone before a person wonders.
  private static let patience = Duration.seconds(2)
  /// The screen says at once that the daemon is gone, and waits for it as long as somebody looks.
  private static let policy = SilencePolicy(toldAfter: .zero, givenUpAfter: nil)

  var events: EventFollower { EventFollower(client: client, policy: Self.policy) }

  func status() async throws -> DaemonStatus { try await client.status(within: Self.patience) }

  /// The latest first.
  func syncs(_ count: Int) async throws -> [SyncRecord] { try await client.syncs(count, within: Self.patience) }

  /// What became of it, in words.
  func askForSync() async throws -> String { try await SyncRequest().send(client).1.text }
}
