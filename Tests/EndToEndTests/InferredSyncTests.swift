import FoundationEssentials
import RosterCore
import RosterSimulator
import Synchronization
import Testing

/// `rosterd infer` on the first answer of an API, then syncs with its definition while records change.
@Suite(.serialized, .timeLimit(.minutes(5))) struct InferredSyncTests {
  @Test("The definition that infer prints mirrors a changing list", arguments: AnswerForm.all)
  func survives(form: AnswerForm) async throws {
    let list = ChangingList(form)
    var scenario = Scenario.pages(1)
    scenario.beside = list.answer
    try await withSite(scenario, settings: ["ROSTERD_SYNC_MAX_REMOVAL": "100"]) { site in
      let inferred = try await site.rosterd("infer", "\(site.upstream.baseURL)\(form.address)")
      try #require(inferred.exit == 0, "\(inferred.error)")
      let file = "\(site.folder)/inferred.toml"
      try Data(inferred.output.utf8).write(to: URL(filePath: file))
      for (step, change) in Self.changes.enumerated() {
        list.change(change)
        // A record is removed when the second pull misses it.
        for _ in 1...(step < 2 ? 1 : 2) {
          let sync = try await site.rosterd("sync", "--config", file)
          try #require(sync.exit == 0, "step \(step): \(sync.error)\n\(inferred.output)")
        }
        let rows = try await site.rows(form.query).map { $0.joined(separator: " ") }
        try #require(rows.sorted() == list.truth.sorted(), "step \(step)\n\(inferred.output)")
      }
    }
  }

  /// The first state has three pages. Later ones have four, an empty page in the middle, one page, one record and none.
  private static let changes: [@Sendable (inout [Int: String]) -> Void] = [
    { _ in },
    { rows in
      rows[3] = "renamed"
      for id in 26...33 { rows[id] = "new \(id)" }
    },
    { rows in for id in 11...20 { rows[id] = nil } },
    { rows in for id in rows.keys where id > 6 { rows[id] = nil } },
    { rows in for id in rows.keys where id != 3 { rows[id] = nil } },
    { rows in rows = [:] },
    { rows in for id in 1...12 { rows[id] = "again \(id)" } },
  ]
}

/// The list of an API, with its records by their numbers.
private final class ChangingList: Sendable {
  private struct State {
    var rows = Dictionary(uniqueKeysWithValues: (1...25).map { ($0, "name \($0)") })
    var memory = AnswerForm.Memory()
  }

  private let form: AnswerForm
  private let state = Mutex(State())

  init(_ form: AnswerForm) { self.form = form }

  func change(_ change: @Sendable (inout [Int: String]) -> Void) { state.withLock { change(&$0.rows) } }

  var truth: [String] { state.withLock { $0.rows.map { form.truth($0.key, $0.value) } } }

  @Sendable func answer(_ request: Request) -> Response? {
    let parts = request.url.split(separator: "?", maxSplits: 1).map(String.init)
    guard parts[0] == "/api" + form.address.prefix(while: { $0 != "?" }) else { return nil }
    var query: [String: String] = [:]
    for pair in parts.dropFirst().joined().split(separator: "&") {
      let both = pair.split(separator: "=", maxSplits: 1).map { part in
        String(part).replacing("%5B", with: "[").replacing("%5D", with: "]")
      }
      query[both[0]] = both.count > 1 ? both[1] : ""
    }
    return state.withLock { state in
      let rows = state.rows.sorted { $0.key < $1.key }.map { AnswerForm.Row(id: $0.key, name: $0.value) }
      return form.answer(query, rows, &state.memory)
    }
  }
}
