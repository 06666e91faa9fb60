import ArgumentParser
import RosterModel
import RosterStatusClient

struct Cancel: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Cancels the running sync.",
    discussion: "Pulled pages are kept for the next sync.")

  private struct Cancelled: Decodable { var sync: Int64 }

  @OptionGroup var place: Places

  func run() async throws {
    let client = try await place.client()
    let answer = try await client.send("POST", target: "/v1/cancel")
    do {
      let sync = try answer.decoded(Cancelled.self, of: "cancel the sync").sync
      try Output.standard.write("sync \(sync) is cancelled; what it pulled is kept for the next\n")
    } catch let failure as Failure {
      throw failure.withOwner(of: client, for: "cancel")
    }
  }
}

extension Failure {
  /// Names the user who may run the command in the hint, if the request was not permitted.
  func withOwner(of client: StatusClient, for command: String) -> Failure {
    guard kind == .refused else { return self }
    let owner = client.owner.flatMap { $0 == "root" ? nil : $0 }
    var failure = self
    failure.hint = "try `sudo rosterctl \(command)`" + (owner.map { ", or as \($0)" } ?? "")
    return failure
  }
}
