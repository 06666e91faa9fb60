import FoundationEssentials
import RosterCore
import RosterSimulator
import Testing

extension CacheTrials {
  /// A record that is on no page is requested by its key before it is removed, whatever upstream answers.
  @Suite(.timeLimit(.minutes(2))) struct ByIDTests {
    enum End { case removed, kept, updated, nobodyKnown }

    struct Case: CustomTestStringConvertible, Sendable {
      var testDescription: String
      /// Ids, of 1 to 60, that are no longer on any page.
      var missing: [Int64]
      /// nil for the simulator's own answer, which does not have the record.
      var fault: Fault?
      var end: End
      /// Requests for the records and for the control question, if the records are removed.
      var questions = 2
    }

    private static func object(_ id: String, name: String = "Back") -> String { #"{"id":\#(id),"name":"\#(name)"}"# }

    private static func answer(_ body: String, status: Int = 200) -> Fault { .answer(status: status, body: body) }

    private static let cases = [
      Case(testDescription: "one: 404", missing: [5], fault: nil, end: .removed),
      Case(testDescription: "one: its object", missing: [5], fault: answer(object("5")), end: .updated),
      Case(testDescription: "one: an empty list", missing: [5], fault: answer("[]"), end: .kept),
      Case(testDescription: "one: a list", missing: [5], fault: answer("[\(object("5"))]"), end: .kept),
      Case(testDescription: "one: an object of another id", missing: [5], fault: answer(object("6")), end: .removed),
      Case(
        testDescription: "one: an error dressed as success", missing: [5], fault: answer(#"{"error":"no"}"#), end: .kept
      ),
      Case(
        testDescription: "one: its object, with a text", missing: [5], fault: answer(object(#""5""#)), end: .updated),
      Case(testDescription: "one: an object of no usable id", missing: [5], fault: answer(object("[5]")), end: .kept),
      Case(testDescription: "one: null", missing: [5], fault: answer("null"), end: .removed),
      Case(testDescription: "one: nothing", missing: [5], fault: answer(""), end: .kept),
      Case(
        testDescription: "one: a record that cannot be stored", missing: [5], fault: answer(#"{"id":5,"name":7}"#),
        end: .nobodyKnown),
      Case(testDescription: "several: 404", missing: [5, 9, 60], fault: answer("{}", status: 404), end: .removed),
      Case(testDescription: "several: left out", missing: [5, 9, 60], fault: nil, end: .removed),
      Case(testDescription: "several: an empty list", missing: [5, 9], fault: answer("[]"), end: .removed),
      Case(
        testDescription: "several: all of them", missing: [5, 9], fault: answer("[\(object("9")),\(object("5"))]"),
        end: .updated),
      Case(
        testDescription: "several: all, and records without a request", missing: [5, 9],
        fault: answer("[\(object("1")),\(object("5")),\(object("9")),\(object("777"))]"), end: .updated),
      Case(
        testDescription: "several: only others", missing: [5, 9], fault: answer("[\(object("1")),\(object("777"))]"),
        end: .removed),
      Case(testDescription: "several: an object", missing: [5, 9], fault: answer(object("5")), end: .kept),
      Case(
        testDescription: "several: a page", missing: [5, 9],
        fault: answer(#"{"info":{"count":0,"pages":1},"results":[]}"#), end: .kept),
      Case(
        testDescription: "several: one of no usable id", missing: [5, 9], fault: answer("[\(object("null"))]"),
        end: .removed, questions: 4
      ),
      Case(testDescription: "401", missing: [5], fault: .status(401), end: .kept),
      Case(testDescription: "403", missing: [5], fault: .status(403), end: .kept),
      Case(testDescription: "410", missing: [5, 9], fault: .status(410), end: .removed),
      Case(testDescription: "500", missing: [5], fault: .status(500), end: .kept),
      Case(testDescription: "503", missing: [5, 9], fault: .status(503), end: .kept),
      Case(testDescription: "429", missing: [5], fault: .status(429), end: .kept),
      Case(testDescription: "204", missing: [5], fault: answer("", status: 204), end: .removed),
      Case(
        testDescription: "a redirect elsewhere", missing: [5], fault: .redirect(to: "http://127.0.0.1:1/"), end: .kept),
      Case(testDescription: "garbage", missing: [5], fault: answer("{\"id\":5,"), end: .kept),
      Case(testDescription: "a page of HTML", missing: [5, 9], fault: .html(), end: .kept),
      Case(testDescription: "no answer", missing: [5], fault: .drop, end: .kept),
    ]

    @Test(
      "11, 13: only records that upstream reports as gone are removed; else the state is degraded",
      arguments: cases)
    func answers(of test: Case) async throws {
      try await withDaemon(.pages(3)) { site, _, _ in
        _ = try await site.ask()
        let before = try await characters(site, ids: test.missing)
        let feed = try await site.rows("SELECT feed FROM cache_info")
        site.upstream.update { $0.removeAll { test.missing.contains($0.id) } }
        site.upstream.configure { scenario in
          // The control question gets a good answer if the records are to be removed.
          let times = test.end == .removed ? 1 : nil
          scenario.rules = test.fault.map { [.on(.byID, times: times, $0)] } ?? []
        }
        _ = try await site.ask()
        let status = try await site.status()
        let report = try #require(status.sync.last)
        let after = try await characters(site, ids: test.missing)
        let asked = site.upstream.counts.byIDRequests.map(\.target)
        let target = Target.characters(test.missing.map(String.init).joined(separator: ","))
        #expect(asked.first == target)
        #expect(test.end == .removed ? asked.count == test.questions : asked.allSatisfy { $0 == target })
        switch test.end {
        case .removed:
          #expect(after.isEmpty && report.removed == test.missing.count && status.state == .idle)
          try await site.expectWell()
        case .updated:
          #expect(after.map { $0[1] } == test.missing.map { _ in "Back" })
          #expect(report.removed == 0 && report.changed == test.missing.count && status.state == .idle)
        case .kept:
          #expect(after == before && report.removed == 0 && report.exit == 0)
          #expect(
            status.state == .degraded && report.error?.contains("no character was removed") == true,
            "\(status.message)")
        case .nobodyKnown:
          #expect(after == before && report.removed == 0 && report.rejected == 1 && status.state == .degraded)
          #expect(try await site.rows("SELECT page, document FROM rejects") == [["0", #"{"id":5,"name":7}"#]])
        }
        #expect(try await site.rows("SELECT count(*) FROM characters WHERE id = 777") == [["0"]])
        #expect(try await site.rows("SELECT feed FROM cache_info") == feed)
        // The next sync asks again, and removes the records that upstream does not have.
        site.upstream.configure { $0.rules = [] }
        _ = try await site.ask()
        #expect(try await site.status().state == .idle)
        try await site.expectWell()
      }
    }

    private func characters(_ site: Site, ids: [Int64]) async throws -> [[String]] {
      let list = ids.map(String.init).joined(separator: ",")
      return try await site.rows("SELECT id, name FROM characters WHERE id IN (\(list)) ORDER BY id")
    }

    @Test("11, 13: fifty keys are asked for in one request; if the second fails, the first fifty are only updated")
    func batches() async throws {
      let scenario = Scenario.pages(40)
      // Requests are sent one after the other, because the rules below depend on their order.
      try await withSite(scenario, settings: ["ROSTERD_SYNC_CONCURRENCY": "1"]) { site in
        _ = try await site.sync()
        let gone = Array(Int64(1)...60)
        site.upstream.update { $0.removeAll { gone.contains($0.id) } }
        let back = gone.prefix(50).map { Self.object("\($0)") }.joined(separator: ",")
        site.upstream.configure {
          $0.rules = [.on(.byID, times: 1, Self.answer("[\(back)]")), .on(.byID, .status(400))]
        }
        let report = try await site.sync()
        // Both rules match the first request; the later one wins.
        #expect(report.removed == 0 && report.error?.contains("400") == true)
        site.upstream.configure { $0.rules = [.on(.byID, times: 1, Self.answer("[\(back)]"))] }
        let next = try await site.sync()
        #expect(next.removed == 10 && next.changed == 50 && next.error == nil)
        let asked = site.upstream.counts.byIDRequests.suffix(2).map { seen in
          if case .characters(let ids) = seen.target { ids.split(separator: ",").count } else { 0 }
        }
        #expect(asked == [50, 10])
        #expect(try await site.rows("SELECT count(*) FROM characters") == [["790"]])
      }
    }

    @Test("11, 13: if one of several keys cannot be asked for, found records are updated and none is removed")
    func oneUnasked() async throws {
      let scenario = Scenario.pages(40)
      try await withSite(scenario, settings: ["ROSTERD_SYNC_CONCURRENCY": "1"]) { site in
        _ = try await site.sync()
        let gone = Array(Int64(1)...60)
        site.upstream.update { $0.removeAll { gone.contains($0.id) } }
        let back = gone.suffix(10).map { Self.object("\($0)") }.joined(separator: ",")
        // Both rules match the first request; the later one wins.
        site.upstream.configure {
          $0.rules = [.on(.byID, Self.answer("[\(back)]")), .on(.byID, times: 1, .status(403))]
        }
        let report = try await site.sync()
        #expect(report.removed == 0 && report.changed == 10 && report.error?.contains("403") == true, "\(report)")
        #expect(try await site.rows("SELECT count(*) FROM characters WHERE name = 'Back'") == [["10"]])
        #expect(try await site.rows("SELECT count(*) FROM characters") == [["800"]])
      }
    }

    @Test(
      "12: a sync that would remove too many records fails with 65; --allow-removal lets one sync do it",
      arguments: [true, false])
    func guarded(byDaemon: Bool) async throws {
      try await withSite(.pages(5)) { site in
        _ = try await site.sync()
        let before = try await site.snapshot()
        site.upstream.update { $0.removeLast(21) }
        if byDaemon {
          try await site.withDaemon { _, _ in
            let said = try await site.ask(exit: 65)
            #expect(said.contains("21 of 100") && said.contains("--allow-removal"), "\(said)")
            #expect(try await site.snapshot() == before)
            #expect(try await site.status().state == .degraded)
            #expect(site.upstream.counts.byIDRequests.isEmpty)
            _ = try await site.ask(["--allow-removal"])
            #expect(try await site.status().sync.last?.removed == 21)
            // The permission is for one sync: the next one is guarded again.
            site.upstream.update { $0.removeLast(40) }
            _ = try await site.ask(exit: 65)
          }
        } else {
          #expect(try await site.sync(exit: 65).error?.contains("21 of 100") == true)
          #expect(try await site.snapshot() == before)
          let outcome = try await site.rosterd("sync", "--json", "--allow-removal")
          #expect(outcome.exit == 0, "\(outcome.error)")
          #expect(try JSONDecoder().decode(SyncRecord.self, from: Data(outcome.output.utf8)).removed == 21)
          try await site.expectWell()
        }
      }
    }

    // MARK: Unknown fields

    /// The fields as upstream writes them, and as the cache keeps them: sorted by name, without white space between
    /// tokens.
    private static let written =
      #""zeta" : { "b": [1.10, 1e400, -0.0, 123456789012345678901234567890], "a":null },"é美": "\u00e9\ud83d\ude00 \"\\\/\b\f\n\r\t é👩‍👩‍👧", "n":1.10,"N":"  two  spaces ","dup":1,"dup":2,"empty":{},"list":[ ]"#
    private static let kept =
      #"{"N":"  two  spaces ","dup":2,"empty":{},"list":[],"n":1.10,"zeta":{"b":[1.10,1e400,-0.0,123456789012345678901234567890],"a":null},"é美":"\u00e9\ud83d\ude00 \"\\\/\b\f\n\r\t é👩‍👩‍👧"}"#

    @Test("4: unknown fields are kept byte for byte in characters.extra and changes")
    func extra() async throws {
      try await withSite(.pages(2)) { site in
        _ = try await site.sync()
        site.upstream.configure { $0.rules = [.on(.page(2), .extra(Self.written))] }
        #expect(try await site.sync().changed == 20)
        #expect(try await site.rows("SELECT DISTINCT extra FROM characters WHERE id > 20") == [[Self.kept]])
        #expect(try await site.rows("SELECT count(*) FROM characters WHERE id <= 20 AND extra IS NULL") == [["20"]])
        let changes = try await site.rows("SELECT after FROM changes WHERE kind = 'changed'")
        #expect(changes.count == 20)
        for row in changes { #expect(row[0].contains(#""extra":\#(Self.kept),"#), "\(row[0])") }
        // The records are unchanged, but the white space is new, so that the page is transferred again.
        site.upstream.configure { $0.rules = [.on(.page(2), .extra(" " + Self.written))] }
        #expect(try await site.sync().outcome == .unchanged)
        site.upstream.configure { $0.rules = [] }
        #expect(try await site.sync().changed == 20)
        let before = try await site.rows("SELECT before FROM changes WHERE sync_id = (SELECT snapshot FROM cache_info)")
        #expect(before.count == 20)
        for row in before { #expect(row[0].contains(#""extra":\#(Self.kept),"#)) }
        #expect(
          try await site.rows("SELECT count(*) FROM changes WHERE json_type(after, '$.extra') = 'null'") == [["20"]])
      }
    }

    @Test("4: fields of origin and location without a column are kept in extra")
    func places() async throws {
      let record =
        #"{"id":1,"name":"A","origin":{"name":"E","url":"u","moons":1.50e2,"ö":[{}]},"location":{"x":{"y": 1.10}}}"#
      let scenario = Scenario(characters: Characters.made(20), rules: [.on(.page(1), .records([0: record]))])
      try await withSite(scenario) { site in
        _ = try await site.sync()
        let rows = try await site.rows("SELECT origin_name, location_name, extra FROM characters WHERE id = 1")
        #expect(rows == [["E", "", #"{"location":{"x":{"y":1.10}},"origin":{"moons":1.50e2,"ö":[{}]}}"#]])
      }
    }
  }
}
