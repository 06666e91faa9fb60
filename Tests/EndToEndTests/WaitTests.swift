import FoundationEssentials
import Testing

@Suite struct WaitTests {
  @Test("rosterctl wait says once what it waits for, but not if it only looks")
  func told() async throws {
    let program = try Program.built("rosterctl")
    let alone = try await Program.run(
      program, arguments: ["wait", "--socket", "/nowhere/status.sock", "--max-age", "1h", "--timeout", "500ms"])
    let told =
      "rosterctl: waiting for a daemon to answer on /nowhere/status.sock, then for a snapshot not older than 1h; "
      + "gives up after 500ms\n"
    #expect(alone.exit == 1 && alone.output.isEmpty)
    #expect(
      alone.error.hasPrefix(told) && alone.error.components(separatedBy: "waiting for").count == 2, "\(alone.error)")
    let look = try await Program.run(
      program, arguments: ["wait", "--socket", "/nowhere/status.sock", "--timeout", "0s"])
    #expect(look.exit == 1 && !look.error.contains("waiting for"))
    #expect(look.error.contains("no daemon answers on /nowhere/status.sock"), "\(look.error)")
  }
}
