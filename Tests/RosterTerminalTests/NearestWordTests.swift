import Testing

@testable import RosterTerminal

@Suite struct NearestWordTests {
  private let commands = ["status", "watch", "wait", "sync", "events", "history", "characters", "character", "help"]

  @Test(
    "A mistyped command is answered with the nearest",
    arguments: [
      ("statsu", "status"), ("stauts", "status"), ("stat", "status"), ("snyc", "sync"), ("SYNC", "sync"),
      ("evnets", "events"), ("histroy", "history"), ("char", "character"), ("caracters", "characters"), ("w", "wait"),
    ])
  func near(typed: String, meant: String) {
    #expect(NearestWord.to(typed, among: commands) == meant)
  }

  @Test("Without a similar command none is proposed", arguments: ["", "frobnicate", "x", "日本語"])
  func far(typed: String) {
    #expect(NearestWord.to(typed, among: commands) == nil)
  }
}
